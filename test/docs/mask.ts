/** What differs from run to run, and the word that stands for it in both texts. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{64}\b/g, "HASH"],
  [/\b[a-z]{2}_[A-Za-z0-9]{6,}\b/g, "ID"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "ID"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC)?/g, "TIME"],
  [/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, "LOOPBACK:PORT"],
  [/\b\d+(\.\d+)? ?(ms|s|min|m|h|d)\b( \d+ (s|m|h)\b)*/g, "SPAN"],
  [/\b\d+(\.\d+)? ?(B|kB|KiB|MB|MiB|GB|GiB)\b/g, "SIZE"],
  // What the watcher sees of a shell's own files counts too, in as many checkpoints as it takes.
  [/("?generation"?[:= ]+"?)\d+/g, "$1COUNT"],
  [/("?pid"?[:= ]+)\d+/g, "$1PID"],
  [/\/[^\s"']*\/[^\s"']*/g, "PATH"],
  [/[ \t]+$/gm, ""],
];

/** A text with ids, hashes, times, ports, sizes, process ids and absolute paths masked, and no blank end. */
export function masked(text: string): string {
  return masks.reduce((result, [pattern, word]) => result.replace(pattern, word), text).trim();
}

/** Whether `actual` is what the document shows. A line of only `…` in the document stands for any lines. */
export function sameOutput(shown: string, actual: string): boolean {
  const escaped = masked(shown)
    .split(/^…$/m)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").trim());
  return new RegExp(`^${escaped.join("[^]*")}$`).test(masked(actual));
}
