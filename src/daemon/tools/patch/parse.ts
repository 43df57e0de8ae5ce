import { GinError } from "../../base/index.ts";
import { type Binary, decoded } from "../edit/text.ts";

/** One line of a hunk: kept, taken out, or put in. Text without its end. */
export interface HunkLine {
  readonly kind: " " | "-" | "+";
  readonly text: Binary;
}

/** One change within a file. */
export interface Hunk {
  /** Where it begins in the patch, from 1. */
  readonly at: number;
  /** Lines that lead to its place, outermost first. */
  readonly contexts: readonly Binary[];
  readonly lines: readonly HunkLine[];
  /** Lines at its end that were wholly empty in the patch: context, or only a gap before what follows. */
  readonly gap: number;
  /** Whether it is the end of the file. */
  readonly atEnd: boolean;
}

/** One file of a patch. `at`: line of its header in the patch. */
export type Section =
  | { readonly kind: "add"; readonly at: number; readonly path: string; readonly content: Binary }
  | { readonly kind: "delete"; readonly at: number; readonly path: string }
  | {
      readonly kind: "update";
      readonly at: number;
      readonly path: string;
      /** Where it goes; undefined when it stays. */
      readonly moveTo: string | undefined;
      readonly hunks: readonly Hunk[];
    };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const AT_END = "*** End of File";
const MOVE = "*** Move to:";
const HEADERS = [
  ["*** Add File:", "add"],
  ["*** Delete File:", "delete"],
  ["*** Update File:", "update"],
] as const;

/** Reads a patch. Linear in its length. Throws PATCH_INVALID naming the line that cannot be read. */
export function parsePatch(patch: Binary): Section[] {
  return new Parser(patch).run();
}

/** Most lines of a patch. */
const PATCH_LINES = 3_000_000;

/** Refuses a text of more than `most` lines before it is taken apart: a line takes many times its bytes while it is compared. Throws RESOURCE_LIMIT. */
export function checkLines(text: Binary, most: number, what: string, then: string): void {
  const ends = text.matchAll(/\r\n?|\n/g);
  let count = 0;
  while (count <= most && ends.next().done !== true) count += 1;
  if (count <= most) return;
  throw new GinError("RESOURCE_LIMIT", `${what} has more than ${most} lines`, then, { facts: { limit: most, unit: "lines" } });
}

/** The refusal of a patch that cannot be read. */
function badPatch(line: number, says: string, suggestion?: string): GinError {
  return new GinError("PATCH_INVALID", `line ${line} of the patch ${says}`, suggestion, { facts: { line } });
}

class Parser {
  readonly #lines: Binary[];
  #at = 0;
  #end = 0;

  constructor(patch: Binary) {
    checkLines(patch, PATCH_LINES, "the patch", "send it in several calls");
    this.#lines = patch.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  run(): Section[] {
    this.#frame();
    const sections: Section[] = [];
    for (;;) {
      while (this.#at < this.#end && this.#blank()) this.#at += 1;
      if (this.#at >= this.#end) break;
      sections.push(this.#section());
    }
    if (sections.length === 0)
      throw badPatch(this.#at + 1, "comes before any file is named", "add a section: *** Update File: PATH");
    return sections;
  }

  /** Finds the first and the last line. */
  #frame(): void {
    this.#end = this.#lines.length;
    while (this.#at < this.#end && this.#blank()) this.#at += 1;
    while (this.#end > this.#at && (this.#lines[this.#end - 1] ?? "").trim() === "") this.#end -= 1;
    if ((this.#lines[this.#at] ?? "").trimEnd() !== BEGIN)
      throw badPatch(Math.min(this.#at + 1, this.#lines.length), `is not "${BEGIN}"`, `begin with ${BEGIN}`);
    this.#at += 1;
    if (this.#end <= this.#at || (this.#lines[this.#end - 1] ?? "").trimEnd() !== END) {
      throw badPatch(this.#end, `is not "${END}"`, `end with ${END}`);
    }
    this.#end -= 1;
  }

  #line(): Binary {
    return this.#lines[this.#at] ?? "";
  }

  #blank(): boolean {
    return this.#line().trim() === "";
  }

  #section(): Section {
    const header = this.#line();
    const found = HEADERS.find(([start]) => header.startsWith(start));
    if (found === undefined) {
      throw badPatch(this.#at + 1, "is no header of a file", "use *** Add File:, *** Delete File: or *** Update File:");
    }
    const [start, kind] = found;
    const at = this.#at + 1;
    const path = this.#path(start);
    if (kind === "delete") return { kind, at, path };
    return kind === "add" ? { kind, at, path, content: this.#added() } : this.#update(at, path);
  }

  /** The path behind a header, whose line this goes past. */
  #path(start: string): string {
    const path = decoded(this.#line().slice(start.length).trim());
    if (path === undefined || path === "") throw badPatch(this.#at + 1, "names no path");
    this.#at += 1;
    return path;
  }

  #added(): Binary {
    const lines: Binary[] = [];
    for (; this.#at < this.#end && this.#line().startsWith("+"); this.#at += 1) lines.push(this.#line().slice(1), "\n");
    return lines.join("");
  }

  #update(at: number, path: string): Section {
    const moveTo = this.#at < this.#end && this.#line().startsWith(MOVE) ? this.#path(MOVE) : undefined;
    const hunks: Hunk[] = [];
    while (this.#at < this.#end && !isHeader(this.#line())) {
      if (this.#gapHere()) break;
      hunks.push(this.#hunk(hunks.length === 0));
    }
    if (hunks.length === 0 && moveTo === undefined) throw badPatch(at, "updates a file without a change");
    return { kind: "update", at, path, moveTo, hunks };
  }

  /** Goes past blank lines between a hunk and what is no hunk. */
  #gapHere(): boolean {
    let at = this.#at;
    while (at < this.#end && this.#lines[at] === "") at += 1;
    if (at === this.#at || (at < this.#end && !isHeader(this.#lines[at] ?? ""))) return false;
    this.#at = at;
    return true;
  }

  #hunk(first: boolean): Hunk {
    const at = this.#at + 1;
    const contexts: Binary[] = [];
    while (this.#at < this.#end && isPlace(this.#line())) {
      const text = this.#line().slice(3);
      if (text !== "") contexts.push(text);
      this.#at += 1;
    }
    if (this.#at + 1 === at && !first) throw badPatch(at, "begins a change without @@", "put a line @@ between two changes");
    const lines: HunkLine[] = [];
    let gap = 0;
    for (; this.#at < this.#end; this.#at += 1) {
      const line = this.#line();
      const kind = line[0];
      if (kind === " " || kind === "-" || kind === "+") {
        lines.push({ kind, text: line.slice(1) });
        gap = 0;
      } else if (line === "") {
        lines.push({ kind: " ", text: "" });
        gap += 1;
      } else break;
    }
    const atEnd = this.#at < this.#end && this.#line().trimEnd() === AT_END;
    if (atEnd) this.#at += 1;
    else if (this.#at < this.#end && !isPlace(this.#line()) && !isHeader(this.#line())) {
      throw badPatch(this.#at + 1, "begins with none of blank, - and +", "context lines begin with one blank more");
    }
    if (lines.length === gap) throw badPatch(at, "begins a change without lines");
    return { at, contexts, lines, gap, atEnd };
  }
}

function isPlace(line: Binary): boolean {
  return line === "@@" || line.startsWith("@@ ");
}

function isHeader(line: Binary): boolean {
  return HEADERS.some(([start]) => line.startsWith(start));
}
