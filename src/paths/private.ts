import * as fs from "node:fs";
import * as path from "node:path";
import { PathsError } from "./error.ts";

/**
 * Checks that a directory is ours alone: a real directory (the last component no link), owned by this user, no bits for
 * group or others. Throws PathsError "unusable" when it is absent or no directory, else "not_private".
 */
export function verifyPrivateDirectory(directory: string): void {
  const stat = fs.lstatSync(directory, { throwIfNoEntry: false });
  if (stat === undefined) throw new PathsError("unusable", `${directory} does not exist`, "create it, or name another");
  if (stat.isSymbolicLink()) {
    throw new PathsError("not_private", `${directory} is a symbolic link`, "remove the link, or name the directory it leads to");
  }
  if (!stat.isDirectory()) throw new PathsError("unusable", `${directory} is not a directory`, "name a directory");
  const uid = process.getuid?.();
  if (uid !== undefined && stat.uid !== uid) {
    throw new PathsError("not_private", `${directory} belongs to another user (uid ${stat.uid})`, "use a directory of your own");
  }
  if (uid !== undefined && (stat.mode & 0o077) !== 0) {
    const mode = (stat.mode & 0o777).toString(8);
    throw new PathsError("not_private", `${directory} is open to others (mode ${mode})`, `run: chmod 700 '${directory}'`);
  }
}

/** Makes a directory (0700, missing parents too) where there is none, then verifies it. Never mends what it finds. */
export function ensurePrivateDirectory(directory: string): void {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "an unknown error";
    if (code !== "EEXIST") {
      throw new PathsError(
        "unusable",
        `${directory} cannot be made (${code})`,
        "make its parent writable, or name another directory",
      );
    }
  }
  verifyPrivateDirectory(directory);
}

/**
 * Writes a small file (0600) so that readers see the old bytes or the new ones: a temp beside it, then a rename.
 * Not synced: what is written this way is rebuilt or asked for again after a power cut.
 */
export function writePrivateFile(file: string, text: string): void {
  const temp = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.tmp`);
  fs.rmSync(temp, { force: true });
  fs.writeFileSync(temp, text, { mode: 0o600, flag: "wx" });
  fs.renameSync(temp, file);
}

/**
 * Real path of something that may not exist yet: that of its nearest existing ancestor, and the rest as written.
 * So a client and the daemon that will make the directory agree on its name beforehand.
 */
export function realPathOf(wanted: string): string {
  const absolute = path.resolve(wanted);
  const rest: string[] = [];
  for (let at = absolute; ; at = path.dirname(at)) {
    try {
      return path.join(fs.realpathSync.native(at), ...rest);
    } catch (thrown) {
      const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
      if (code !== "ENOENT" && code !== "ENOTDIR") {
        throw new PathsError("unusable", `${at} cannot be resolved (${String(code)})`, "name another directory");
      }
      if (path.dirname(at) === at) return absolute;
      rest.unshift(path.basename(at));
    }
  }
}
