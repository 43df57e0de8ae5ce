import { GinError, type Json, Pace } from "../../base/index.ts";
import { flagArg, numberArg, textArg } from "../args.ts";
import type { ArgSchema, JsonMap, NextCall, ReadContext } from "../types.ts";
import { type LoadedFile, loadFile, stale } from "./load.ts";
import { type Bom, bomOf, type Encoding, encodingOf } from "./sniff.ts";
import { TextLines } from "./text-lines.ts";
import { type Place, type Truncate, type WindowAsk, windowOf } from "./window.ts";

/** The tool that goes on where a read ended. */
const GOES_ON = "read_file";

/** Arguments that say which part of a file is read: the same for one file and for each of several. */
export const WINDOW_SCHEMA: { readonly [name: string]: ArgSchema } = {
  path: { type: "string", minLength: 1, description: "File path, relative to the workspace, with /" },
  start_line: { type: "integer", minimum: 0, default: 1, description: "First line, from 1" },
  end_line: { type: "integer", minimum: 0, description: "Last line, inclusive; default start_line + 1999" },
  tail: { type: "integer", minimum: 0, default: 0, description: "The last N lines instead; wins over start_line and end_line" },
  line_numbers: { type: "boolean", default: true, description: "Number the lines; false gives the text as it is" },
  truncate: {
    type: "string",
    enum: ["head", "tail", "middle", "none", "smart"],
    default: "head",
    description: "Which part of a long window: its head, tail, both ends, no line limit, or the head up to the end of a block",
  },
};

/** A text, or a part of one, ready to be answered. */
export interface ReadText {
  readonly text: string;
  /** Says what is not shown; absent when everything asked for is there. */
  readonly truncation?: JsonMap;
  readonly nextCall?: NextCall;
  /** Said when it is not plain UTF-8 without a mark. */
  readonly encoding?: Encoding;
  readonly bom?: Bom;
  /** How much of the output there is. */
  readonly hint: string;
}

/** What a cursor of read_file carries: a place in exactly these bytes. */
interface Position extends Place {
  readonly sha256: string;
}

/** Opens the cursor of a read. Undefined when none was given. Throws INVALID_CURSOR. */
export function placeOf(args: JsonMap, context: ReadContext): Position | undefined {
  const found = context.cursors.open(queryOf(args), textArg(args, "cursor"));
  return found === undefined ? undefined : (found as unknown as Position);
}

/**
 * The file a cursor goes on in: from disk while it is the same, else from the store. Throws CURSOR_EXPIRED when it changed and its bytes
 * are not kept.
 */
export async function continued(args: JsonMap, place: Position, context: ReadContext): Promise<LoadedFile> {
  const file = await loadFile(context, textArg(args, "path"));
  if (file.sha256 === place.sha256) return file;
  const kept = context.store.read.object(place.sha256);
  if (kept === undefined) throw stale(file.path);
  return { ...file, sha256: place.sha256, bytes: Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength) };
}

/** The part of a text that was asked for. */
export async function readText(
  args: JsonMap,
  file: LoadedFile,
  place: Position | undefined,
  context: ReadContext,
): Promise<ReadText> {
  const encoding = encodingOf(file.bytes, true);
  const bom = bomOf(file.bytes);
  // A mark is not text: glued to line 1 it would spoil every comparison with it.
  const body = bom === "utf-8-bom" ? file.bytes.subarray(3) : file.bytes;
  // Text that is not UTF-8 is shown with U+FFFD where it cannot be decoded; that is said, and nothing is ever written from it.
  const pace = new Pace(context.clock, context.signal);
  const lines = await TextLines.of(encoding === "8-bit" ? Buffer.from(body.toString("utf8")) : body, pace);
  const ask = askOf(args, file.path, place);
  const window = await windowOf(lines, ask, pace);
  const said = { ...(encoding === "utf-8" ? {} : { encoding }), ...(bom === "none" ? {} : { bom }) };
  if (!window.truncated) return { text: window.text, hint: "", ...said };
  const next = window.next === undefined ? undefined : nextCall(args, window.next, file.sha256, context);
  const hint = hintOf(window, lines.count);
  const truncation: JsonMap = {
    truncated: true,
    totalLines: lines.count,
    outputLines: window.outputLines,
    hint,
    ...(window.cut ? { lineCut: true } : {}),
    ...(next === undefined ? {} : { next_call: next as unknown as Json }),
  };
  return { text: window.text, truncation, hint, ...said, ...(next === undefined ? {} : { nextCall: next }) };
}

function askOf(args: JsonMap, path: string, place: Place | undefined): WindowAsk {
  const truncate = textArg(args, "truncate");
  return {
    path,
    start: numberArg(args, "start_line", 0),
    end: numberArg(args, "end_line", 0),
    tail: numberArg(args, "tail", 0),
    numbers: flagArg(args, "line_numbers", true),
    truncate: truncate === "" ? undefined : (truncate as Truncate),
    place,
  };
}

function hintOf(window: Awaited<ReturnType<typeof windowOf>>, total: number): string {
  const { first, last, next } = window;
  const shown = `[Showing lines ${first}-${last} of ${total}.`;
  if (next === undefined) return `${shown} The rest is left out: narrow the window with start_line and end_line.]`;
  if (window.cut) return `${shown} Line ${last} is shown up to a part of it: next_call goes on from there.]`;
  return `${shown} Use start_line=${next.line} to continue.]`;
}

/** The call that goes on. start_line is for the reader: the cursor alone decides, and holds to these very bytes. */
function nextCall(args: JsonMap, next: Place, sha256: string, context: ReadContext): NextCall {
  const { tail: _tail, start_line: _start, if_checksum: _check, cursor: _cursor, ...kept } = args;
  const position: Position = { ...next, sha256 };
  const cursor = context.cursors.seal(queryOf(args), { ...position }, GOES_ON);
  return { tool: GOES_ON, arguments: { ...kept, start_line: next.line, cursor } };
}

/** What a cursor is bound to. */
function queryOf(args: JsonMap): JsonMap {
  return { path: textArg(args, "path") };
}

/** Refuses what is no text and cannot be shown as an image either. */
export function binaryFile(path: string, what: string, then?: string): GinError {
  return new GinError("BINARY_FILE", `${path} is ${what}`, then, { facts: { path } });
}
