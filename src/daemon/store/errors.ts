import { GinError, isReason, type Json, toGinError } from "../base/index.ts";

/** SQLite's extended result code ("SQLITE_BUSY_SNAPSHOT") of anything thrown, else "". */
export function sqliteCode(thrown: unknown): string {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "string") return "";
  return thrown.code.startsWith("SQLITE_") ? thrown.code : "";
}

/** Turns what SQLite or a side file threw into the reason a caller sees. Never names a path. */
export function storeError(thrown: unknown): GinError {
  if (thrown instanceof GinError) return thrown;
  const code = sqliteCode(thrown);
  const more = { cause: thrown };
  if (code === "SQLITE_FULL") {
    return new GinError("DISK_FULL", "no space left for the store", undefined, { ...more, facts: { where: "store" } });
  }
  if (code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_CANTOPEN") || code === "SQLITE_PERM") {
    return new GinError("STORE_READ_ONLY", "the store cannot be written", undefined, { ...more, facts: { where: "store" } });
  }
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") {
    return new GinError("STORE_CORRUPT", "the store is damaged, or is not a store of gin", undefined, more);
  }
  if (code.startsWith("SQLITE_IOERR")) {
    return new GinError("IO_FAILED", "the disk refused the store", undefined, { ...more, facts: { errno: code } });
  }
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new GinError("BUSY", "another program holds the store", "end the other program, then retry", more);
  }
  const general = toGinError(thrown);
  if (general.reason === "IO_FAILED" && ["EROFS", "EACCES", "EPERM"].includes(String(general.facts.errno))) {
    return new GinError("STORE_READ_ONLY", "the data directory cannot be written", undefined, {
      ...more,
      facts: { where: "store" },
    });
  }
  return general;
}

/** An error as it travels between threads: classes do not survive a message. */
export interface CarriedError {
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
  readonly retryable: boolean;
  readonly facts: { readonly [key: string]: Json };
  /** Of what was thrown underneath: for the log. */
  readonly cause: string;
}

/** An error made ready to travel. */
export function carry(error: GinError): CarriedError {
  const { reason, message, suggestion, retryable, facts, cause } = error;
  return { reason, message, suggestion, retryable, facts, cause: cause instanceof Error ? (cause.stack ?? cause.message) : "" };
}

/** The error that arrived, as a GinError again; its cause is text by now. */
export function uncarry(carried: CarriedError): GinError {
  const { message, suggestion, retryable, facts, cause } = carried;
  const reason = isReason(carried.reason) ? carried.reason : "INTERNAL";
  return new GinError(reason, message, suggestion, { retryable, facts, cause: new Error(cause) });
}
