import { GinError } from "../../base/index.ts";
import type { LineAnswer, LineHit, ShownText, Skipped } from "../../search/index.ts";
import { compileGlob, SHOWN_CHARACTERS } from "../../search/index.ts";
import { flagArg, numberArg, textArg } from "../args.ts";
import type { JsonMap, NextCall, Tool, ToolResult } from "../types.ts";
import { type Searched, settle } from "./scope.ts";

/** Matching lines a page has when nothing is said. */
const MATCHES = 500;
/** Most lines of context on each side. */
const CONTEXT_LINES = 100;

/** search_files: lines of recorded files that match. */
export const searchFiles: Tool = {
  name: "search_files",
  description:
    "Search file contents for a regular expression (RE2 syntax) or a fixed text, line by line. Ignored, hidden, binary and built files are passed over.",
  features: ["regex", "literal", "grep", "content", "context"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, description: "RE2 expression, or a text with literal; matched in each line" },
      path: { type: "string", default: ".", description: "Directory to search below, or one file" },
      include: { type: "string", minLength: 1, description: "Glob of files, e.g. *.ts or src/**/*.md; relative to path" },
      context_lines: { type: "integer", minimum: 0, maximum: CONTEXT_LINES, default: 0, description: "Lines around each match" },
      case_insensitive: { type: "boolean", default: false, description: "Whether case makes no difference" },
      literal: { type: "boolean", default: false, description: "Whether the pattern is a text and no expression" },
      max_matches: { type: "integer", minimum: 0, default: MATCHES, description: "Matching lines in a page; 0 is the default" },
      offset: { type: "integer", minimum: 0, default: 0, description: "Matches (or files) to leave out, for paging" },
      format: { type: "string", enum: ["text", "json", "filenames"], default: "text", description: "How the answer is written" },
      cursor: { type: "string", description: "From next_call: the state the first page was taken from" },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  intents: [
    {
      points: 11,
      any: ["search", "grep", "look", "find"],
      also: [["repo", "repository", "file", "code", "content", "text", "string", "regex", "pattern", "workspace", "project"]],
    },
  ],
  async run(args, context): Promise<ToolResult> {
    const format = textArg(args, "format") || "text";
    const include = textArg(args, "include");
    // A pattern that cannot be read is refused, also where there is nothing to search.
    if (include !== "") compileGlob(include);
    const asked = sameQuestion(args);
    const offset = numberArg(args, "offset", 0);
    const query = {
      pattern: textArg(args, "pattern"),
      literal: flagArg(args, "literal"),
      caseInsensitive: flagArg(args, "case_insensitive"),
      offset,
      limit: numberArg(args, "max_matches", MATCHES) || MATCHES,
      by: format === "filenames" ? ("files" as const) : ("lines" as const),
      contextLines: format === "filenames" ? 0 : numberArg(args, "context_lines", 0),
    };
    const searched = await settle(context, args, asked, { include: include === "" ? undefined : include });
    const answer = await lines(args, context.search.lines({ ...query, where: searched.where }, context.signal));
    // Contents may have been given up while a later page was made: then its figures are not those of the first one.
    if (answer.skipped.not_kept > 0 && textArg(args, "cursor") !== "") await settle(context, args, asked, {});
    const found = { answer, searched, offset, format };
    const next = nextCall(found, args, () => context.cursors.seal(asked, searched.bound));
    const facts = factsOf(found, next);
    if (format === "json") {
      const whole = { results: answer.hits.map(entry), ...facts, ...(next === undefined ? {} : { next_call: next }) };
      return withNext({ result: JSON.stringify(whole), meta: facts }, next);
    }
    const text = format === "filenames" ? answer.files.map(fileLine).join("\n") : linesOf(answer.hits);
    return withNext({ result: text, meta: facts }, next);
  },
};

/** An answer; a pattern that cannot be read is refused with the call that looks for it as it stands. */
async function lines(args: JsonMap, answer: Promise<LineAnswer>): Promise<LineAnswer> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof GinError) || thrown.reason !== "INVALID_REGEX") throw thrown;
    const nextCall = { tool: "search_files", arguments: { ...args, literal: true } };
    throw new GinError(thrown.reason, thrown.message, thrown.suggestion, { cause: thrown, nextCall });
  }
}

/** A page with what it is made from. */
interface Found {
  readonly answer: LineAnswer;
  readonly searched: Searched;
  readonly offset: number;
  readonly format: string;
}

/** What a cursor is bound to: everything but the place and the length of the page. */
function sameQuestion(args: JsonMap): JsonMap {
  const { cursor: _cursor, offset: _offset, max_matches: _matches, context_lines: _lines, ...question } = args;
  return question;
}

function withNext(result: ToolResult, next: NextCall | undefined): ToolResult {
  return next === undefined ? result : { ...result, nextCall: next };
}

/** Matches, or files, in all and in this page. */
function counts({ answer, format }: Found): { readonly all: number; readonly here: number } {
  if (format === "filenames") return { all: answer.totalFiles, here: answer.files.length };
  return { all: answer.total, here: answer.hits.length };
}

function nextCall(found: Found, args: JsonMap, cursor: () => string): NextCall | undefined {
  const { all, here } = counts(found);
  const offset = found.offset + here;
  if (here === 0 || offset >= all) return undefined;
  return { tool: "search_files", arguments: { ...args, offset, cursor: cursor() } };
}

function factsOf(found: Found, next: NextCall | undefined): JsonMap {
  const { answer, searched, offset } = found;
  const { all, here } = counts(found);
  const reason = reasonOf(found);
  const skipped = skippedOf(answer.skipped);
  return {
    truncated: next !== undefined,
    total_count: all,
    total_count_exact: true,
    ...(found.format === "filenames" ? { total_matches: answer.total } : {}),
    offset,
    ...(reason === undefined ? {} : { reason }),
    ...(next === undefined
      ? {}
      : { hint: `${here} of ${all} shown; make next_call for more, or narrow path, include or pattern` }),
    files_searched: answer.searched,
    ...(skipped === undefined ? {} : { skipped }),
    ...(searched.checkpoint === "" ? {} : { checkpoint: searched.checkpoint }),
  };
}

/** Why there is nothing; undefined when there is something. */
function reasonOf({ answer, searched }: Found): string | undefined {
  if (answer.total > 0) return undefined;
  if (searched.nothing !== undefined) return searched.nothing;
  return "pattern_matched_nothing";
}

function skippedOf(skipped: Skipped): JsonMap | undefined {
  const some = Object.entries(skipped).filter(([, count]) => count > 0);
  return some.length === 0 ? undefined : Object.fromEntries(some);
}

function entry(hit: LineHit): JsonMap {
  const { file, cut } = { file: hit.path, cut: hit.text.cutBefore + hit.text.cutAfter > 0 };
  return {
    file,
    line: hit.line,
    column: hit.column,
    text: hit.text.text,
    ...(cut
      ? { text_start: hit.text.cutBefore + 1, text_length: hit.text.cutBefore + SHOWN_CHARACTERS + hit.text.cutAfter }
      : {}),
    ...(hit.before.length === 0 ? {} : { context_before: hit.before.map((one) => one.text) }),
    ...(hit.after.length === 0 ? {} : { context_after: hit.after.map((one) => one.text) }),
  };
}

function fileLine({ path, lines }: { readonly path: string; readonly lines: number }): string {
  return `${path}: ${lines} ${lines === 1 ? "match" : "matches"}`;
}

/** As grep writes it: `path:line:text` for a match, `path-line-text` around it, `--` where lines are left out. A line is shown once. */
function linesOf(hits: readonly LineHit[]): string {
  const shown: string[] = [];
  let file = "";
  let last = 0;
  for (const [index, hit] of hits.entries()) {
    const context = hit.before.length > 0 || hit.after.length > 0;
    if (hit.path !== file) last = 0;
    const from = hit.line - hit.before.length;
    if (context && shown.length > 0 && (hit.path !== file || from > last + 1)) shown.push("--");
    file = hit.path;
    for (const [at, text] of hit.before.entries()) if (from + at > last) shown.push(`${hit.path}-${from + at}-${marked(text)}`);
    shown.push(`${hit.path}:${hit.line}:${marked(hit.text)}`);
    last = hit.line;
    const next = hits[index + 1];
    const stop = next?.path === hit.path ? next.line : Number.POSITIVE_INFINITY;
    for (const [at, text] of hit.after.entries()) {
      const line = hit.line + 1 + at;
      if (line >= stop) break;
      shown.push(`${hit.path}-${line}-${marked(text)}`);
      last = line;
    }
  }
  return shown.join("\n");
}

/** A cut line says so. */
function marked({ text, cutBefore, cutAfter }: ShownText): string {
  return `${cutBefore > 0 ? "…" : ""}${text}${cutAfter > 0 ? "…" : ""}`;
}
