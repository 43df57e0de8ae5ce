import { RE2JS } from "re2js";
import { GinError } from "../../base/index.ts";
import { compileRe2 } from "../../search/index.ts";
import { newlines } from "../edit/match.ts";
import { type Binary, bytesOf, checkEncoding, encoded, type FileText, fileText, firstEnding, unixEnds } from "../edit/text.ts";
import type { ReplaceJob } from "./messages.ts";
import { type Piece, parseTemplate } from "./template.ts";

/** Longest pattern, in UTF-16 units, largest file that may come out, and most bytes of all of a job's. */
const PATTERN_UNITS = 16_384;
const MADE_BYTES = 64 * 1024 * 1024;
const MADE_TOTAL = 200 * 1024 * 1024;

/** What replacing came to in one file. */
export interface Replaced {
  readonly bytes: Buffer;
  readonly matches: number;
  readonly replaced: number;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** Replaces in a file that was looked into. Throws BINARY_FILE, TOO_LARGE, RESOURCE_LIMIT where the job's files come to too much together. */
export type Ready = () => Replaced;

/**
 * Makes a job's pattern ready: RE2's syntax. Throws INVALID_REGEX, INVALID_REQUEST for one that is too long. What it gives throws BINARY_FILE for a file
 * in which nothing can be looked for.
 */
export function compileReplace(job: Omit<ReplaceJob, "files">): (bytes: Uint8Array, path: string) => Ready {
  if (job.pattern.length > PATTERN_UNITS) {
    throw new GinError("INVALID_REQUEST", `args/pattern: is longer than ${PATTERN_UNITS} characters`, "use a shorter pattern", {
      facts: { field: "args/pattern" },
    });
  }
  const flags = (job.caseInsensitive ? RE2JS.CASE_INSENSITIVE : 0) | (job.multiline ? RE2JS.MULTILINE : 0);
  const then = "RE2 has no look-around and no back-references; escape what is meant as it stands";
  const regex = compileRe2(job.pattern, flags, then);
  const pieces = parseTemplate(unixEnds(job.replacement));
  let made = 0;
  return (bytes, path) => {
    const file = fileText(bytes, path);
    const text = matchable(file, job.pattern, path);
    return () => {
      const replaced = replaceIn(regex, pieces, file, text, path);
      made += replaced.bytes.byteLength;
      if (made > MADE_TOTAL) throw tooMuch();
      return replaced;
    };
  };
}

/**
 * Replaces in one file. Matching sees LFs only and no byte order mark; what a group matched goes back with the bytes it has, and
 * text of the template takes the line end of the place. Throws BINARY_FILE, TOO_LARGE.
 */
function replaceIn(regex: RE2JS, pieces: readonly Piece[], file: FileText, text: string, path: string): Replaced {
  const places = new Places(file, text);
  const matcher = regex.matcher(text);
  const names = regex.namedGroups();
  const groups = matcher.groupCount();
  const out: Binary[] = [];
  let length = 0;
  let copied = 0;
  let ended = -1;
  let matches = 0;
  let replaced = 0;
  let line = 1;
  let counted = 0;
  let firstLine = 0;
  let lastLine = 0;
  const lineTo = (offset: number): number => {
    line += newlines(text, counted, offset);
    counted = offset;
    return line;
  };
  while (matcher.find()) {
    const start = matcher.start();
    const end = matcher.end();
    // As RE2's own tools: no empty match right behind another, and none within a character.
    if (start === end && (start === ended || isWithin(text, start))) continue;
    ended = end;
    matches += 1;
    const at = places.raw(start);
    const spans = spansOf(matcher, groups);
    const to = places.raw(end);
    const before = file.raw.slice(at, to);
    const ending = firstEnding(before) ?? file.ending;
    const after = expanded(
      pieces,
      names,
      (group) => {
        const span = spans[group];
        return span === undefined ? "" : file.raw.slice(places.raw(span[0]), places.raw(span[1]));
      },
      ending,
    );
    if (firstLine === 0) firstLine = lineTo(start);
    lastLine = lineTo(Math.max(start, end - 1));
    if (after === before) continue;
    checkEncoding(path, file.utf8, before, after);
    replaced += 1;
    out.push(file.raw.slice(copied, at), after);
    length += at - copied + after.length;
    copied = to;
    if (length > MADE_BYTES) {
      throw new GinError("TOO_LARGE", `${path} would become larger than ${MADE_BYTES} bytes`, "replace less at once", {
        facts: { path, limit: MADE_BYTES, unit: "bytes" },
      });
    }
  }
  out.push(file.raw.slice(copied));
  return { bytes: bytesOf(out.join("")), matches, replaced, firstLine, lastLine };
}

/** The text as the expression sees it. A file of another encoding is seen byte by byte, which goes well for ASCII patterns only. */
function matchable(file: FileText, pattern: string, path: string): string {
  if (file.utf8) return bytesOf(file.text).toString("utf8");
  if (!/[^\x00-\x7f]/.test(pattern)) return file.text;
  throw new GinError("BINARY_FILE", `${path} is not UTF-8: a pattern beyond ASCII cannot be found in it`, undefined, {
    facts: { path },
  });
}

type Span = readonly [start: number, end: number];

/** Where each group matched; undefined for one that took no part, so that nobody walks back to the text's start for it. */
function spansOf(matcher: { start(group: number): number; end(group: number): number }, groups: number): (Span | undefined)[] {
  return Array.from({ length: groups + 1 }, (_, group): Span | undefined => {
    const start = matcher.start(group);
    return start < 0 ? undefined : [start, matcher.end(group)];
  });
}

function tooMuch(): GinError {
  return new GinError(
    "RESOURCE_LIMIT",
    `the files would come to more than ${MADE_TOTAL} bytes together`,
    "replace in fewer files at once",
    {
      facts: { limit: MADE_TOTAL, unit: "bytes" },
    },
  );
}

function expanded(
  pieces: readonly Piece[],
  names: Readonly<Record<string, number>>,
  group: (index: number) => Binary,
  ending: string,
): Binary {
  return pieces
    .map((piece) => {
      if ("text" in piece) return encoded(piece.text, "args/replacement").replaceAll("\n", () => ending);
      const index =
        typeof piece.group === "number" ? piece.group : Object.hasOwn(names, piece.group) ? names[piece.group] : undefined;
      return index === undefined ? "" : group(index);
    })
    .join("");
}

function isWithin(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

/** From places in the matched text to places in the file; quick as long as they mostly ascend. */
class Places {
  readonly #file: FileText;
  readonly #text: string;
  /** Every character is one byte of the text. */
  readonly #even: boolean;
  #units = 0;
  #bytes = 0;

  constructor(file: FileText, text: string) {
    this.#file = file;
    this.#text = text;
    this.#even = text.length === file.text.length;
  }

  raw(offset: number): number {
    if (this.#even) return this.#file.at(offset);
    // Groups lie within their match, so a step back is a short one.
    if (offset >= this.#units) this.#bytes += Buffer.byteLength(this.#text.slice(this.#units, offset));
    else this.#bytes -= Buffer.byteLength(this.#text.slice(offset, this.#units));
    this.#units = offset;
    return this.#file.at(this.#bytes);
  }
}
