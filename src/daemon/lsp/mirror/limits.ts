import type { MirrorLimits } from "./types.ts";

export { TEXT_BYTES } from "../limits.ts";

/** Bounds of a mirror. */
export const MIRROR_LIMITS: MirrorLimits = {
  documents: 256,
  characters: 64 * 1024 * 1024,
  events: 2_000,
  unmatched: 50_000,
  cached: 32 * 1024 * 1024,
  writeMs: 30_000,
  revertMs: 5_000,
};

/** Bytes at a file's beginning in which a NUL tells that it is no text, as in every tool that reads. */
export const SNIFFED_BYTES = 8_192;
