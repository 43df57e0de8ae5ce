const DIGITS = "0123456789abcdefghijklmnopqrstuv";

/** A fresh request id, "rq_" and 20 characters of 0-9a-v (100 bits): minted before the first attempt and kept for every retry. */
export function mintRequestId(): string {
  // Loaded when a mutation comes: a read's start-up should not pay for it.
  const bytes = process.getBuiltinModule("node:crypto").randomBytes(20);
  let id = "rq_";
  for (const byte of bytes) id += DIGITS[byte & 31];
  return id;
}
