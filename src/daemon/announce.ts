import * as fs from "node:fs";
import {
  type DaemonOptions,
  type NotReadyLine,
  type NotRestoredLine,
  PathsError,
  type ReadyLine,
  type RestoredLine,
  TokenFileError,
} from "../paths/index.ts";
import { toGinError } from "./base/index.ts";
import { writeStderr } from "./host/index.ts";

/** Tells whoever started the daemon that it serves (or what it restored), or why it cannot: on the inherited descriptor, else on standard output. */
export function announce(
  line: ReadyLine | NotReadyLine | RestoredLine | NotRestoredLine,
  options: Pick<DaemonOptions, "ready_fd">,
): void {
  const fd = options.ready_fd ?? 1;
  try {
    fs.writeSync(fd, `${JSON.stringify(line)}\n`);
    if (options.ready_fd !== undefined) fs.closeSync(fd);
  } catch {
    // Whoever started it is gone; the daemon serves all the same.
  }
}

/** What anything thrown during the start tells the person. */
export function explain(thrown: unknown): NotReadyLine {
  if (thrown instanceof PathsError) {
    return { ready: false, reason: "INVALID_REQUEST", message: thrown.message, suggestion: thrown.suggestion };
  }
  if (thrown instanceof TokenFileError) {
    return { ready: false, reason: "IO_FAILED", message: thrown.message, suggestion: thrown.suggestion };
  }
  const { reason, message, suggestion } = toGinError(thrown);
  return { ready: false, reason, message, suggestion };
}

/** Ends a start that failed: one line for the person on stderr, one for the starter's descriptor, status 1. */
export function failStart(thrown: unknown, options: Pick<DaemonOptions, "ready_fd">): never {
  const line = explain(thrown);
  writeStderr(`gin: ${line.reason}: ${line.message}\n     ${line.suggestion}\n`);
  // Standard output is for the ready line alone.
  if (options.ready_fd !== undefined) announce(line, options);
  process.exit(1);
}
