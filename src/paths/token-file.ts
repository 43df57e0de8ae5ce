import * as fs from "node:fs";
import * as path from "node:path";
import { writePrivateFile } from "./private.ts";

/** Why a secret file was refused. */
export type TokenFileFault =
  | "missing"
  | "not_regular"
  | "owner"
  | "mode"
  | "directory"
  | "too_large"
  | "malformed"
  | "unreadable";

/** A secret file that may not be used. `message` names the file as the person gave it; `suggestion` says what mends it. */
export class TokenFileError extends Error {
  readonly fault: TokenFileFault;
  readonly suggestion: string;

  constructor(fault: TokenFileFault, message: string, suggestion: string) {
    super(message);
    this.name = "TokenFileError";
    this.fault = fault;
    this.suggestion = suggestion;
  }
}

/** Bytes of a token file at most. */
const TOKEN_FILE_MAX = 4096;
/** Looks like a token; whether it is one only the daemon knows. */
const TOKEN = /^gin_[A-Za-z0-9_-]{1,200}$/;

/** The token in a file, without white space around it. Throws TokenFileError. */
export function readTokenFile(file: string): string {
  const token = readSecretFile(file, TOKEN_FILE_MAX).toString("utf8").trim();
  if (!TOKEN.test(token)) throw new TokenFileError("malformed", `${file} holds no gin token`, "write the token alone into it");
  return token;
}

/** Writes a token for `readTokenFile`: 0600, replacing what is there in one step. Throws TokenFileError "directory". */
export function writeTokenFile(file: string, token: string): void {
  checkDirectory(file);
  writePrivateFile(file, `${token}\n`);
}

/**
 * The bytes of a file that holds a secret: a regular file, no link, of this user, no bits for group or others, in a
 * directory nobody else can write, at most `maxBytes` long. Opened once and judged through its descriptor.
 */
export function readSecretFile(file: string, maxBytes: number): Buffer {
  checkDirectory(file);
  const fd = open(file);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new TokenFileError("not_regular", `${file} is not a regular file`, "name a regular file");
    if (isForeign(stat.uid)) {
      throw new TokenFileError("owner", `${file} belongs to another user (uid ${stat.uid})`, "use a file of your own");
    }
    if ((stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8);
      throw new TokenFileError("mode", `${file} is open to others (mode ${mode})`, `run: chmod 600 '${file}'`);
    }
    // One byte more than allowed, since a size reported beforehand may grow.
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = fs.readSync(fd, bytes, length, bytes.length - length, null);
    if (length > maxBytes) {
      throw new TokenFileError(
        "too_large",
        `${file} is larger than ${maxBytes} bytes`,
        "name the file that holds the secret alone",
      );
    }
    return bytes.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}

function open(file: string): number {
  try {
    // Non-blocking, so that a FIFO put there cannot hold the process.
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT") throw new TokenFileError("missing", `${file} does not exist`, "name the file that gin serve printed");
    if (code === "ELOOP") throw new TokenFileError("not_regular", `${file} is a symbolic link`, "name the file it leads to");
    throw new TokenFileError("unreadable", `${file} cannot be opened (${code})`, "name a file that this user can read");
  }
}

function checkDirectory(file: string): void {
  const directory = path.dirname(path.resolve(file));
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  if (stat === undefined) throw new TokenFileError("missing", `the directory of ${file} does not exist`, "name an existing file");
  if (stat.uid !== 0 && isForeign(stat.uid)) {
    throw new TokenFileError(
      "directory",
      `the directory of ${file} belongs to another user`,
      "keep it in a directory of your own",
    );
  }
  if ((stat.mode & 0o022) !== 0) {
    throw new TokenFileError(
      "directory",
      `others can write the directory of ${file}`,
      `run: chmod go-w '${directory}', or keep the file in a directory of your own`,
    );
  }
}

function isForeign(uid: number): boolean {
  const own = process.geteuid?.();
  return own !== undefined && uid !== own;
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "an unknown error";
}
