import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContextOptions, type Server } from "node:tls";
import { readSecretFile, TokenFileError } from "../../paths/index.ts";
import { type Clock, errnoOf, GinError, type Log } from "../base/index.ts";
import type { TlsFiles } from "./types.ts";

/** Bytes of a key, certificate chain or CA bundle at most. */
const PEM_MAX = 1024 * 1024;

/** Reads and parses the files. Throws GinError INVALID_REQUEST saying which of them is at fault. */
export function loadTls(files: TlsFiles): SecureContextOptions {
  const cert = read("certificate", files.certFile);
  const key = readKey(files.keyFile);
  const ca = files.clientCaFile === undefined ? undefined : read("client CA", files.clientCaFile);
  const options: SecureContextOptions = { cert, key, minVersion: "TLSv1.3", ...(ca === undefined ? {} : { ca }) };
  try {
    createSecureContext(options);
  } catch (cause) {
    throw new GinError(
      "INVALID_REQUEST",
      "the TLS certificate and key cannot be used together",
      "give a PEM certificate and its own PEM key",
      { cause, facts: { field: "tls" } },
    );
  }
  return options;
}

function read(what: string, file: string): Buffer {
  try {
    const bytes = readFileSync(file);
    if (bytes.length <= PEM_MAX) return bytes;
    throw new GinError("INVALID_REQUEST", `the ${what} file is larger than ${PEM_MAX} bytes`);
  } catch (cause) {
    if (cause instanceof GinError) throw cause;
    throw new GinError("INVALID_REQUEST", `the ${what} file cannot be read (${errnoOf(cause) ?? "unknown"})`, undefined, {
      cause,
    });
  }
}

function readKey(file: string): Buffer {
  try {
    return readSecretFile(file, PEM_MAX);
  } catch (cause) {
    if (!(cause instanceof TokenFileError)) throw cause;
    throw new GinError(
      "INVALID_REQUEST",
      `the TLS key file is not fit (${cause.fault})`,
      "make it a regular file of yours, mode 0600",
      {
        cause,
        facts: { field: "tls-key" },
      },
    );
  }
}

/** Keeps a server's certificate fresh: looks at the files' stat, and takes what parses. Open sessions go on as they are. */
export class TlsKeeper {
  readonly #server: Server;
  readonly #files: TlsFiles;
  readonly #log: Log;
  #seen: string;
  #cancel = () => {};

  constructor(server: Server, files: TlsFiles, clock: Clock, log: Log, pollMs: number) {
    this.#server = server;
    this.#files = files;
    this.#log = log;
    this.#seen = this.#stamp();
    const poll = () => {
      if (this.#stamp() !== this.#seen) this.reload();
      this.#cancel = clock.after(pollMs, poll);
    };
    this.#cancel = clock.after(pollMs, poll);
  }

  /** Takes the files as they are now; keeps the old certificate when they are not fit. */
  reload(): void {
    this.#seen = this.#stamp();
    try {
      this.#server.setSecureContext(loadTls(this.#files));
      this.#log.info({}, "the TLS certificate was read again");
    } catch (cause) {
      this.#log.warn({ err: cause }, "the new TLS certificate cannot be used; the old one stays");
    }
  }

  stop(): void {
    this.#cancel();
  }

  #stamp(): string {
    const { certFile, keyFile, clientCaFile } = this.#files;
    const files = clientCaFile === undefined ? [certFile, keyFile] : [certFile, keyFile, clientCaFile];
    return files.map(stampOf).join(" ");
  }
}

function stampOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "-" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}
