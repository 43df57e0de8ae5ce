/** Granule in which a power cut leaves a file's blocks written or not. */
const PAGE = 4096;

/**
 * Whether `found` is what a power cut can leave of `whole`, whose rename was logged before its blocks were: shorter, or with
 * pages of zeros where the content should be. An equal file is not torn.
 */
export function isTorn(found: Uint8Array, whole: Uint8Array): boolean {
  if (found.byteLength > whole.byteLength) return false;
  let differs = found.byteLength < whole.byteLength;
  for (let at = 0; at < found.byteLength; at += PAGE) {
    const end = Math.min(at + PAGE, found.byteLength);
    const page = found.subarray(at, end);
    if (Buffer.compare(page, whole.subarray(at, end)) === 0) continue;
    if (page.some((byte) => byte !== 0)) return false;
    differs = true;
  }
  return differs;
}
