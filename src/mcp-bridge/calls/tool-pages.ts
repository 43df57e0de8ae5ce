import { createHash } from "node:crypto";
import { isObject, type JsonObject, type JsonValue } from "../../clients/sdk/index.ts";
import { type EnvelopeAnswer, shownEnvelope, sizeOf } from "./envelope.ts";
import { cutToFit, fewer, PAGE_BYTES } from "./pages.ts";

/** Lists asked for anew until one fits. Entries are not of one size, so it may take more of them than for contents. */
const SMALLER_PAGES_MAX = 6;

/** Characters that a part of a text has at least, whatever stands beside it. */
const PART_CHARACTERS = 1_000;

/** The argument that says how many entries a list has; of multi_read it is the list of files itself. */
const COUNTS: { readonly [tool: string]: string } = {
  search_files: "max_matches",
  find_files: "limit",
  list_dir: "max_entries",
  memory: "limit",
  multi_read: "files",
};

/** A call of the table as it is sent. */
export interface TableCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly mutation: boolean;
}

/** Asks the daemon with these arguments; gives the CallToolResponse, or undefined when there is none. */
export type Ask = (args: JsonObject) => Promise<JsonObject | undefined>;

/**
 * The envelope of a call within PAGE_BYTES; undefined when `ask` gave none. A list that is too long is asked for anew with fewer entries. A
 * long text is shown in parts: `next_call` has the same call with a cursor of ours, which asks again and goes on while the text is the same,
 * for nothing is held here between calls. What has no pages, or changed something, is cut, and `meta.cut` says where.
 */
export async function envelopeWithin(
  call: TableCall,
  ask: Ask,
  of: (response: JsonObject) => EnvelopeAnswer,
): Promise<EnvelopeAnswer | undefined> {
  const parted = call.tool === "read_file" || (call.tool === "memory" && call.arguments.action === "recall");
  const place = parted ? placeOf(call.arguments.cursor) : undefined;
  let args = place === undefined ? call.arguments : withCursor(call.arguments, place.inner);
  for (let asked = 0; ; asked += 1) {
    const answered = await ask(args);
    if (answered === undefined) return undefined;
    const response = withOtherFiles(call, args, answered);
    const whole = of(response);
    const bytes = sizeOf(whole);
    const { ok, result } = response;
    if (parted && ok === true && typeof result === "string" && (place !== undefined || bytes > PAGE_BYTES)) {
      return partOf(call, response, result, place, of);
    }
    if (bytes <= PAGE_BYTES) return whole;
    const asks = !call.mutation && ok === true && asked < SMALLER_PAGES_MAX;
    const served = asks ? servedBy(call.tool, args, response) : 0;
    if (served <= 1)
      return served === 1 && call.tool === "multi_read" ? of(tooLarge(args)) : shownEnvelope(cutEnvelope(whole.structured));
    // In proportion at first; where one entry is most of it, that would take many.
    args = withCount(call.tool, args, Math.min(fewer(served, bytes), Math.max(1, served >> asked)));
  }
}

/** A place in a text of which only a part was shown: `skip` characters into what `inner` was answered with, which has this hash. */
interface Place {
  readonly skip: number;
  readonly hash: string;
  readonly inner: string;
}

function placeOf(cursor: JsonValue | undefined): Place | undefined {
  const [, skip, hash = "", inner = ""] = /^part\.(\d{1,9})\.([\w-]{22})\.(.*)$/s.exec(String(cursor ?? "")) ?? [];
  return skip === undefined ? undefined : { skip: Number(skip), hash, inner };
}

function withCursor(args: JsonObject, cursor: string): JsonObject {
  const { cursor: _cursor, ...rest } = args;
  return cursor === "" ? rest : { ...rest, cursor };
}

/** The part of a text from a place on. Put together the parts are the text, which ends as the daemon ended it. */
function partOf(
  call: TableCall,
  response: JsonObject,
  text: string,
  place: Place | undefined,
  of: (response: JsonObject) => EnvelopeAnswer,
): EnvelopeAnswer {
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, 22);
  const { skip, inner } = place ?? { skip: 0, inner: String(call.arguments.cursor ?? "") };
  if (place !== undefined && (place.hash !== hash || skip > text.length)) {
    const error = "the text changed since its first part was shown";
    return of({ ok: false, error, error_code: "stale_file", suggestion: "read it again without cursor" });
  }
  const rest = of({ ...response, result: text.slice(skip) });
  if (sizeOf(rest) <= PAGE_BYTES) return rest;
  const { next_call: _next, ...meta } = isObject(response.meta) ? response.meta : {};
  for (let most = PAGE_BYTES; ; ) {
    const result = wholeLines(text.slice(skip, skip + most));
    const to = skip + result.length;
    const hint = `${to} of ${text.length} characters of this text are shown: next_call goes on there`;
    const next = withCursor(call.arguments, `part.${to}.${hash}.${inner}`);
    const part = of({
      ...response,
      result,
      meta: { ...meta, truncation: { truncated: true, hint } },
      next_call: { tool: call.tool, arguments: next },
    });
    const bytes = sizeOf(part);
    if (bytes <= PAGE_BYTES || most === PART_CHARACTERS) return part;
    most = Math.max(PART_CHARACTERS, fewer(result.length, bytes));
  }
}

/** Up to the last end of a line; of one long line as it is, but never half a character. */
function wholeLines(text: string): string {
  const end = text.lastIndexOf("\n") + 1;
  return end > 0 ? text.slice(0, end) : text.replace(/[\ud800-\udbff]$/, "");
}

/** How many entries the list of an answer has; 0 for what is no list. */
function servedBy(tool: string, args: JsonObject, response: JsonObject): number {
  if (COUNTS[tool] === undefined) return 0;
  if (tool === "multi_read") return filesOf(args).length;
  return tool === "search_files" ? matchesIn(response) : entriesIn(response);
}

/** The arguments that ask for `count` entries. */
function withCount(tool: string, args: JsonObject, count: number): JsonObject {
  return { ...args, [COUNTS[tool] ?? ""]: tool === "multi_read" ? filesOf(args).slice(0, count) : count };
}

function matchesIn({ meta, next_call: next }: JsonObject): number {
  if (!isObject(meta)) return 0;
  const end = isObject(next) && isObject(next.arguments) ? next.arguments.offset : meta.total_count;
  return Number(end ?? 0) - Number(meta.offset ?? 0);
}

/** Entries of the one list that a result in JSON has. */
function entriesIn(response: JsonObject): number {
  const list = Object.values(jsonOf(response)).find(Array.isArray);
  return list?.length ?? 0;
}

function jsonOf({ result }: JsonObject): JsonObject {
  if (typeof result !== "string" || !result.startsWith("{")) return {};
  try {
    const value: unknown = JSON.parse(result);
    return isObject(value) ? value : {};
  } catch {
    // A text that only begins like JSON.
    return {};
  }
}

function filesOf({ files }: JsonObject): JsonValue[] {
  return Array.isArray(files) ? files : [];
}

/** The answer of a multi_read that was asked of fewer files than it named, with the call for the others, as the daemon tells of those it left out. */
function withOtherFiles(call: TableCall, args: JsonObject, response: JsonObject): JsonObject {
  const others = call.tool === "multi_read" ? filesOf(call.arguments).slice(filesOf(args).length) : [];
  if (others.length === 0) return response;
  const next = { tool: call.tool, arguments: { files: others } };
  if (response.ok !== true) return { ...response, next_call: next };
  const answer = jsonOf(response);
  const calls = Array.isArray(answer.next_calls) ? answer.next_calls : [];
  const result = JSON.stringify({ ...answer, next_calls: [...calls, next], truncated_global: true });
  return { ...response, result, next_call: next };
}

/** What is answered where the first file alone is too large. */
function tooLarge(args: JsonObject): JsonObject {
  const [first] = filesOf(args);
  return {
    ok: false,
    error: `the first file alone is more than an answer of ${PAGE_BYTES} bytes holds`,
    error_code: "resource_limit",
    suggestion: "make next_call, which reads it in parts, and read the others with a call of their own",
    ...(isObject(first) && { next_call: { tool: "read_file", arguments: first } }),
  };
}

/** An envelope cut to fit. Images are left as they are. */
function cutEnvelope({ content, ...structured }: JsonObject): JsonObject {
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  const images = blocks.some(({ type }) => type === "image");
  const { cut, ...rest } = cutToFit(images ? structured : { ...structured, ...(content !== undefined && { content }) });
  const meta = { ...(isObject(rest.meta) ? rest.meta : {}), ...(cut !== undefined && { cut }) };
  return { ...rest, ...(images && content !== undefined && { content }), meta };
}
