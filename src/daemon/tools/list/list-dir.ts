import { createHash } from "node:crypto";
import { GinError, type Json } from "../../base/index.ts";
import { numberArg, textArg } from "../args.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, NextCall, ReadContext, Tool, ToolResult } from "../types.ts";
import { fromSeconds, parseTime } from "./time.ts";
import { walkTree } from "./tree.ts";

const DEPTH = 3;
const DEEPEST = 10;

/** list_dir: the tree below a directory. */
export const listDir: Tool = {
  name: "list_dir",
  description:
    "List a directory and those below it, sorted by path; directories end with /. Hidden names and node_modules, vendor, dist, build, __pycache__ are left out.",
  features: ["recursive", "depth", "pagination", "modified_filter"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      path: { type: "string", default: ".", description: "Directory; . is the workspace" },
      depth: { type: "integer", minimum: 0, default: DEPTH, description: "Levels listed, 1 to 10" },
      max_entries: { type: "integer", minimum: 1, maximum: 10_000, default: 500, description: "Entries in one answer" },
      offset: { type: "integer", minimum: 0, default: 0, description: "Entries to pass over" },
      changed_since: { type: "number", minimum: 0, description: "Only files written after this time, in seconds of the epoch" },
      changed_after: { type: "string", description: "The same as a time in RFC 3339; wins over changed_since" },
      cursor: { type: "string", description: "From next_call: refuses when the tree is not the same any more" },
    },
    additionalProperties: false,
  },
  intents: [
    {
      points: 8,
      any: ["list", "ls", "tree", "show", "browse", "explore", "layout"],
      also: [["directory", "dir", "folder", "tree", "structure", "layout", "content"]],
    },
    { points: 8, any: ["ls"] },
  ],
  async run(args, context): Promise<ToolResult> {
    const after = timeOf(args);
    // 0 is as if it had not been given.
    const depth = Math.min(DEEPEST, numberArg(args, "depth", DEPTH) || DEPTH);
    const tree = await walkTree(context, toolPath(textArg(args, "path")), depth);
    const entries = tree.entries
      .filter(({ entry }) => after === undefined || entry.kind === "directory" || (entry.mtimeNs ?? 0n) > after)
      .map(({ path }) => path)
      .sort();
    const limit = numberArg(args, "max_entries", 500);
    const seal = sealOf(entries);
    const offset = offsetOf(args, seal, context);
    const page = entries.slice(offset, offset + limit);
    const end = offset + page.length;
    const truncated = end < entries.length;
    const next = truncated ? nextCall(args, end, seal, context) : undefined;
    const answer: JsonMap = {
      entries: page,
      truncated,
      total_count: entries.length,
      total_count_exact: tree.complete,
      offset,
      ...(tree.unreadable === 0 ? {} : { unreadable_directories: tree.unreadable }),
      ...(truncated ? { hint: `Entries ${offset + 1}-${end} of ${entries.length}: next_call has those behind them` } : {}),
      ...(tree.complete ? {} : { hint: "There is more than one walk looks at: list a directory below" }),
      ...(next === undefined ? {} : { next_call: next as unknown as Json }),
    };
    return { result: JSON.stringify(answer), ...(next === undefined ? {} : { nextCall: next }) };
  },
};

/** The time behind which files must have been written; undefined when none was given. */
function timeOf(args: JsonMap): bigint | undefined {
  const after = textArg(args, "changed_after");
  if (after !== "") return parseTime(after, "changed_after");
  const since = numberArg(args, "changed_since", 0);
  return since === 0 ? undefined : fromSeconds(since);
}

/** Of two equal seals the entries are the same: pages of one list fit together. */
function sealOf(entries: readonly string[]): string {
  return createHash("sha256").update(entries.join("\0")).digest("base64url");
}

function offsetOf(args: JsonMap, seal: string, context: ReadContext): number {
  const found = context.cursors.open(queryOf(args), textArg(args, "cursor"));
  if (found === undefined) return numberArg(args, "offset", 0);
  const [offset, then] = found as [number, string];
  if (then !== seal)
    throw new GinError("CURSOR_EXPIRED", "the directory changed since", "list it again without cursor and offset");
  return offset;
}

function nextCall(args: JsonMap, offset: number, seal: string, context: ReadContext): NextCall {
  const { cursor: _cursor, ...kept } = args;
  return { tool: "list_dir", arguments: { ...kept, offset, cursor: context.cursors.seal(queryOf(args), [offset, seal]) } };
}

/** What a cursor is bound to: everything that decides what is listed. */
function queryOf({ path = ".", depth = DEPTH, changed_since = 0, changed_after = "" }: JsonMap): JsonMap {
  return { path, depth, changed_since, changed_after };
}
