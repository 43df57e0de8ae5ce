import { GinError, type Pace } from "../../base/index.ts";
import { nearMiss } from "../edit/near-miss.ts";
import { type Binary, bytesOf, checkEncoding, fileText, withoutMark } from "../edit/text.ts";
import { checkLines, type Hunk, type HunkLine, type Section } from "./parse.ts";
import { SoughtLines, type Steps, type Way } from "./seek.ts";

/** Most lines of a file that a patch changes. */
const FILE_LINES = 1_000_000;

/** A file after a section's changes. */
export interface Updated {
  readonly bytes: Buffer;
  /** Lines of the patch whose changes were placed only by comparing loosely. */
  readonly fuzzy: readonly number[];
}

/** A file in lines: LF, CRLF and CR alone end one; the last may have no end. */
interface FileLines {
  readonly texts: Binary[];
  readonly ends: Binary[];
}

/** A change with its place: the lines [start, end) become what its hunk says. */
interface Placed {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly HunkLine[];
}

/** A line of the result; `fresh` when the patch wrote it. */
interface OutLine {
  readonly text: Binary;
  end: Binary;
  readonly fresh: boolean;
}

/**
 * Makes a section's changes. Lines that the patch does not take out keep every byte they have, whatever the patch spells them like;
 * new lines get the ends of those about them. Throws EDIT_NOT_FOUND, EDIT_NOT_UNIQUE for a place found loosely and twice,
 * BINARY_FILE, RESOURCE_LIMIT (also for a file of too many lines).
 */
export async function update(
  bytes: Buffer,
  section: Section & { kind: "update" },
  path: string,
  steps: Steps,
  pace: Pace,
): Promise<Updated> {
  const file = fileText(bytes, path);
  const body = withoutMark(file.raw);
  const mark = file.raw.slice(0, file.raw.length - body.length);
  checkLines(body, FILE_LINES, path, "change it by edit_file");
  const lines = splitEnds(body);
  const sought = new SoughtLines(lines.texts, steps, file.utf8);
  const placed: Placed[] = [];
  const fuzzy: number[] = [];
  let from = 0;
  for (const hunk of section.hunks) {
    await pace.next();
    const found = place(sought, lines, hunk, from, path);
    if (found.way !== "exact") fuzzy.push(hunk.at);
    placed.push(found);
    const region = lines.texts.slice(found.start, found.end).join("\n");
    const put = found.lines.flatMap((line) => (line.kind === "+" ? [line.text] : [])).join("\n");
    checkEncoding(path, file.utf8, region, put);
    from = found.end;
  }
  return { bytes: bytesOf(mark + joined(lines, placed, file.ending)), fuzzy };
}

function splitEnds(body: Binary): FileLines {
  const texts: Binary[] = [];
  const ends: Binary[] = [];
  let from = 0;
  for (const { 0: end, index } of body.matchAll(/\r\n?|\n/g)) {
    texts.push(body.slice(from, index));
    ends.push(end);
    from = index + end.length;
  }
  if (from < body.length) {
    texts.push(body.slice(from));
    ends.push("");
  }
  return { texts, ends };
}

function place(sought: SoughtLines, file: FileLines, hunk: Hunk, start: number, path: string): Placed & { readonly way: Way } {
  let from = start;
  let loosest: Way = "exact";
  let lead: Binary | undefined;
  for (const context of hunk.contexts) {
    const found = seek(sought, [[context]], from, hunk, path, false);
    if (found === undefined) throw notFound(file, hunk, [context], path, "the line its @@ names");
    if (found.way !== "exact") loosest = found.way;
    from = found.at + 1;
    lead = context;
  }
  const shapes = shapesOf(hunk);
  const olds = shapes.map(oldOf);
  const [old = []] = olds;
  if (old.length === 0) {
    // Nothing to be replaced: behind the line it names, else at the end.
    const at = lead === undefined || hunk.atEnd ? file.texts.length : from;
    return { start: at, end: at, lines: shapes[0] ?? [], way: loosest };
  }
  // The line that leads to the place may be given again as the first of its lines.
  const again = lead !== undefined && old[0] === lead ? from - 1 : from;
  const found = seek(sought, olds, again, hunk, path, hunk.atEnd);
  if (found === undefined) throw notFound(file, hunk, old, path, "its lines");
  const way = found.way === "exact" ? loosest : found.way;
  return { start: found.at, end: found.at + (olds[found.shape]?.length ?? 0), lines: shapes[found.shape] ?? [], way };
}

/** The hunk as it is; without the gap at its end; without one empty line at its end. */
function shapesOf({ lines, gap }: Hunk): HunkLine[][] {
  const shapes: HunkLine[][] = [[...lines]];
  if (gap > 0) shapes.push(lines.slice(0, lines.length - gap));
  const last = shapes.at(-1) ?? [];
  // What only puts lines in has no context: an empty line at its end is a gap.
  if (oldOf(last).length === 0) return [last];
  const end = last.at(-1);
  if (end?.kind === " " && end.text === "" && oldOf(last).length > 1) shapes.push(last.slice(0, -1));
  return shapes;
}

function oldOf(shape: readonly HunkLine[]): Binary[] {
  return shape.flatMap((line) => (line.kind === "+" ? [] : [line.text]));
}

/** Tries the ways of comparing in turn, and in each all the shapes. Throws EDIT_NOT_UNIQUE. */
function seek(
  sought: SoughtLines,
  olds: readonly (readonly Binary[])[],
  from: number,
  { at: line }: Hunk,
  path: string,
  anchored: boolean,
): { readonly at: number; readonly way: Way; readonly shape: number } | undefined {
  for (const way of sought.ways) {
    for (const [shape, old] of olds.entries()) {
      const only = anchored ? sought.length - old.length : undefined;
      const found = sought.find(old, from, way, only);
      if (found === undefined) continue;
      if (found.second !== undefined) {
        const lines = [found.first + 1, found.second + 1];
        const message = `the change at line ${line} of the patch fits ${path} only loosely, and more than once: lines ${lines.join(", ")}`;
        throw new GinError("EDIT_NOT_UNIQUE", message, "give the lines as they stand, or more of them", {
          facts: { path, line, lines },
        });
      }
      return { at: found.first, way, shape };
    }
  }
  return undefined;
}

function notFound(file: FileLines, hunk: Hunk, old: readonly Binary[], path: string, what: string): GinError {
  const near = nearMiss(file.texts.join("\n"), old.join("\n"));
  const facts = { path, line: hunk.at, ...(near === undefined || near.diff === "" ? {} : { near: near.diff }) };
  const where = near === undefined ? "" : `; line ${near.line} of ${near.lineCount} is most like them`;
  return new GinError(
    "EDIT_NOT_FOUND",
    `the change at line ${hunk.at} of the patch: ${what} cannot be found in ${path}${where}`,
    undefined,
    {
      facts,
    },
  );
}

function joined(file: FileLines, placed: readonly Placed[], ending: string): Binary {
  const out: OutLine[] = [];
  const keep = (index: number): void => {
    out.push({ text: file.texts[index] ?? "", end: file.ends[index] ?? "", fresh: false });
  };
  let next = 0;
  for (const { start, end, lines } of placed) {
    while (next < start) keep(next++);
    for (const line of lines) {
      if (line.kind === " ") keep(next++);
      else if (line.kind === "-") next += 1;
      else out.push({ text: line.text, end: endNear(file, next, start, end) ?? ending, fresh: true });
    }
  }
  while (next < file.texts.length) keep(next++);
  // A last line without an end stays last without an end, or gets one when something comes behind it.
  const open = file.ends.at(-1) === "";
  const last = out.at(-1);
  for (const line of out) if (line.end === "" && line !== last) line.end = ending;
  if (last?.fresh === true) last.end = open ? "" : last.end || ending;
  return out.map((line) => line.text + line.end).join("");
}

/** The end of the line before a place, within a change's lines first, else of the one behind it. */
function endNear(file: FileLines, next: number, start: number, end: number): string | undefined {
  const before = next > start ? file.ends[next - 1] : undefined;
  const behind = next < end ? file.ends[next] : undefined;
  return before || behind || file.ends[start - 1] || undefined;
}
