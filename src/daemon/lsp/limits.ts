/** Bytes of the largest text a server is told of. */
export const TEXT_BYTES = 8 * 1024 * 1024;
