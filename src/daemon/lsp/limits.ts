/** Bytes of the largest text a server is told of. */
export const TEXT_BYTES = 8 * 1024 * 1024;

/** Paths of one checkpoint that are asked about together. */
export const TOUCHED_PATHS = 1_000;
