import type { FormattingOptions } from "vscode-languageserver-protocol";

/** Lines that are looked at. */
const MOST_LINES = 2_000;
/** Where nothing is indented. */
const DEFAULT_SIZE = 4;

/** How a text is indented, by its own lines: tabs where more lines begin with one, else the step between lines that occurs most. */
export function indentationOf(text: string): FormattingOptions {
  let [tabs, spaces, last] = [0, 0, 0];
  const steps = new Map<number, number>();
  for (const line of text.split(/\r?\n/, MOST_LINES)) {
    if (line.trim() === "") continue;
    if (line.startsWith("\t")) {
      tabs += 1;
      continue;
    }
    const width = /^ */.exec(line)?.[0].length ?? 0;
    // The lines of a comment's body are set in by one.
    if (line.startsWith("*", width)) continue;
    if (width > 0) spaces += 1;
    const step = width - last;
    if (step >= 2 && step <= 8) steps.set(step, (steps.get(step) ?? 0) + 1);
    last = width;
  }
  const [size] = [...steps].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0] ?? [DEFAULT_SIZE];
  return { tabSize: tabs > spaces ? DEFAULT_SIZE : size, insertSpaces: tabs <= spaces };
}
