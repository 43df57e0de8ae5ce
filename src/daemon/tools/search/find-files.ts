import { compileGlob } from "../../search/index.ts";
import { numberArg, textArg } from "../args.ts";
import type { JsonMap, Tool, ToolResult } from "../types.ts";
import { settle } from "./scope.ts";

/** Names a page has when nothing is said. */
const FILES = 1_000;
/** Names that may be left out at the beginning. */
const MOST_OFFSET = 100_000;

/** find_files: recorded files by name. */
export const findFiles: Tool = {
  name: "find_files",
  description: "Find files by a glob pattern on their names or paths. Ignored, hidden and built files are passed over.",
  features: ["glob", "filename", "path"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      pattern: {
        type: "string",
        minLength: 1,
        description: "Glob: without a slash it matches names, with one paths relative to path; ** spans directories",
      },
      path: { type: "string", default: ".", description: "Directory to look below" },
      limit: { type: "integer", minimum: 1, default: FILES, description: "Names in a page" },
      offset: { type: "integer", minimum: 0, maximum: MOST_OFFSET, default: 0, description: "Names to leave out, for paging" },
      cursor: { type: "string", description: "From next_call: the state the first page was taken from" },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  intents: [{ points: 7, any: ["find", "locate", "glob", "filename", "filenames", "where", "named"] }],
  async run(args, context): Promise<ToolResult> {
    const pattern = textArg(args, "pattern");
    compileGlob(pattern);
    const { cursor: _cursor, offset: _offset, limit: _limit, ...asked } = args;
    const searched = await settle(context, args, asked, { include: pattern, names: true });
    const offset = numberArg(args, "offset", 0);
    const limit = numberArg(args, "limit", FILES);
    const where = searched.where;
    const { files, total } =
      searched.file || "bytes" in where
        ? named(pattern, searched.path, offset)
        : await context.search.files({ where, offset, limit }, context.signal);
    const next = offset + files.length;
    const more = files.length > 0 && next < total && next <= MOST_OFFSET;
    // Past the last place a page may begin at there is no next call to speak of.
    const then = more ? "make next_call for more, or narrow path or pattern" : "narrow path or pattern for the others";
    const nextCall = {
      tool: "find_files",
      arguments: { ...args, offset: next, ...(more ? { cursor: context.cursors.seal(asked, searched.bound) } : {}) },
    };
    const reason = total > 0 ? undefined : (searched.nothing ?? "pattern_matched_nothing");
    const facts: JsonMap = {
      files,
      truncated: next < total,
      total_count: total,
      total_count_exact: true,
      limit_used: limit,
      offset,
      backend: "native",
      ...(reason === undefined ? {} : { reason }),
      ...(next < total ? { hint: `${files.length} of ${total} shown; ${then}` } : {}),
      ...(searched.checkpoint === "" ? {} : { checkpoint: searched.checkpoint }),
      ...(more ? { next_call: nextCall } : {}),
    };
    return { result: JSON.stringify(facts), ...(more ? { nextCall } : {}) };
  },
};

/** A path that is a file itself. */
function named(pattern: string, path: string, offset: number): { readonly files: readonly string[]; readonly total: number } {
  const total = compileGlob(pattern).matches(path.slice(path.lastIndexOf("/") + 1)) ? 1 : 0;
  return { files: offset === 0 && total === 1 ? [path] : [], total };
}
