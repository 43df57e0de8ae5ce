import { CALL } from "./any.ts";
import { ANNOTATE, SAVE } from "./changing.ts";
import { ANNOTATIONS, CAPABILITIES, CONTEXT, DETAILS, DIFF, EXPLAIN, ORIGIN, READ } from "./reading.ts";
import type { Tool } from "./types.ts";

/** Profile core: gin's own operations, in the order they are listed. */
export const CORE: readonly Tool[] = [
  CAPABILITIES,
  CONTEXT,
  READ,
  DIFF,
  ORIGIN,
  EXPLAIN,
  DETAILS,
  SAVE,
  ANNOTATE,
  ANNOTATIONS,
  CALL,
];
