/** Files up to this many bytes are read whole in one go; larger ones in pieces, so that no read holds up the others. */
export const WHOLE_READ_BYTES = 1024 * 1024;

/** Contents up to this many bytes are kept when they are only read; larger ones by reference until gin changes them. */
export const CAPTURE_BYTES = 5 * 1024 * 1024;

/** Largest content gin captures before its own first change of it; a larger file cannot be changed through gin. */
export const CHANGE_BYTES = 256 * 1024 * 1024;

/** Saves that may wait for their turn in one workspace; one more is BUSY. */
export const QUEUED_SAVES = 4096;

/** Longest stretch of work on the main thread between two looks at other callers, in milliseconds. */
export const SLICE_MS = 10;

/** Text of a conflict shown in the error itself, in bytes over all paths; the rest is kept for Details. */
export const CONFLICT_TEXT_BYTES = 24 * 1024;
