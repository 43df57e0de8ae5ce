import { randomBytes } from "node:crypto";
import type { Clock, IdPrefix, Random } from "./ports.ts";

/** The machine's clocks. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

const ALPHABET = "0123456789abcdefghijklmnopqrstuv";

/** An id from 20 random bytes, five bits of each. */
export function idFrom(prefix: IdPrefix, bytes: Uint8Array): string {
  let text = `${prefix}_`;
  for (const byte of bytes.subarray(0, 20)) text += ALPHABET[byte & 31];
  return text;
}

/** The machine's randomness. */
export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  id: (prefix) => idFrom(prefix, randomBytes(20)),
};
