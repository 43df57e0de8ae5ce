import { CALL } from "./any.ts";
import { ANNOTATE, SAVE } from "./changing.ts";
import { ANNOTATIONS, CAPABILITIES, CONTEXT, DETAILS, DIFF, EXPLAIN, ORIGIN, READ } from "./reading.ts";
import type { Tool } from "./types.ts";

/** The tools, in the order they are listed. It never depends on the connection or on what was called before. */
export const TOOLS: readonly Tool[] = [
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
