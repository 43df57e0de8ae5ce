/** Lines of which so many follow each other are written once. */
const RUN = 3;

/** What stands for the lines left out: `more` of the line above it. */
const marker = (more: number): string => `[the line above ${more} more times]`;
const MARKER = /^\[the line above (\d{1,15}) more times\]$/;

/**
 * Writes runs of three or more equal lines as one and a count. Undefined when that would not be shorter, or when the text has such a count
 * of its own, which could not be told from ours. expandRepeats gives the text back, byte for byte.
 */
export function collapseRepeats(text: string): string | undefined {
  const lines = text.split("\n");
  const kept: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    if (MARKER.test(line)) return undefined;
    let end = at + 1;
    while (end < lines.length && lines[end] === line) end += 1;
    const run = end - at;
    // A count longer than what it stands for is no gain.
    if (run >= RUN && marker(run - 1).length < (run - 1) * (line.length + 1) - 1) kept.push(line, marker(run - 1));
    else for (let copy = 0; copy < run; copy += 1) kept.push(line);
    at = end;
  }
  const collapsed = kept.join("\n");
  return collapsed.length < text.length ? collapsed : undefined;
}

/** The text that collapseRepeats was given. */
export function expandRepeats(collapsed: string): string {
  const lines: string[] = [];
  for (const line of collapsed.split("\n")) {
    const more = MARKER.exec(line)?.[1];
    if (more === undefined) lines.push(line);
    else for (let copy = Number(more), above = lines.at(-1) ?? ""; copy > 0; copy -= 1) lines.push(above);
  }
  return lines.join("\n");
}
