import type { Output, Style } from "./output.ts";
import { showLine } from "./terminal.ts";

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Prints patches as they come, in pieces: into a pipe byte for byte, on a terminal in colours, with everything escaped that
 * could steer it. A hunk's own counts tell its lines from headers, whatever they look like.
 */
export class PatchPrinter {
  readonly #out: Output;
  /** A line whose end has not come yet. */
  #rest = "";
  #old = 0;
  #new = 0;

  constructor(out: Output) {
    this.#out = out;
  }

  add(piece: string): void {
    if (!this.#out.terminal) {
      if (piece !== "") this.#out.content(piece);
      return;
    }
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  /** What is left when a page was the last one asked for and ended within a line. */
  end(): void {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
  }

  #line(line: string): void {
    const out = this.#out;
    const style = this.#style(line);
    // Tabs stay: they are how the text is laid out.
    const shown = line.split("\t").map(showLine).join("\t");
    out.line(style === undefined ? shown : out.style(style, shown));
  }

  #style(line: string): Style | undefined {
    if (this.#old > 0 || this.#new > 0) {
      const mark = line[0];
      if (mark === "+") this.#new -= 1;
      else if (mark === "-") this.#old -= 1;
      else if (mark === " ") {
        this.#old -= 1;
        this.#new -= 1;
      }
      return mark === "+" ? "green" : mark === "-" ? "red" : mark === "\\" ? "dim" : undefined;
    }
    const hunk = HUNK.exec(line);
    if (hunk === null) return line.startsWith("\\") ? "dim" : "bold";
    this.#old = Number(hunk[1] ?? 1);
    this.#new = Number(hunk[2] ?? 1);
    return "cyan";
  }
}
