import { GinError, type Json } from "../../base/index.ts";
import type { EditInput, SaveOutcome } from "../../workspace/index.ts";
import type { ArgSchema, JsonMap, ToolResult, WriteContext } from "../types.ts";

/** The argument of every tool that saves: what is done about a file that changed meanwhile. */
export const ON_CONFLICT: ArgSchema = {
  type: "string",
  enum: ["refuse", "merge"],
  default: "refuse",
  description: "What to do when a file changed meanwhile: refuse, or merge line by line",
};

export const IF_CHECKSUM: ArgSchema = {
  type: "string",
  description: "sha256 of the file as you read it; refused or merged when it is another by now",
};

/** Whether a merge was asked for. */
export function merges(args: JsonMap): boolean {
  return args.on_conflict === "merge";
}

/** Bytes of arguments that a next call repeats. */
const NEXT_CALL_BYTES = 8 * 1024;

/** Most files of one call; as the Save operation. */
const SAVED_FILES = 10_000;

/** Saves a tool's edits; a refusal that a merge would mend says with which call. */
export async function saveEdits(
  context: WriteContext,
  tool: string,
  args: JsonMap,
  edits: readonly EditInput[],
  answer: (outcome: SaveOutcome) => ToolResult,
): Promise<ToolResult> {
  if (edits.length > SAVED_FILES) {
    throw new GinError("RESOURCE_LIMIT", `the call changes ${edits.length} files; the limit is ${SAVED_FILES}`, undefined, {
      facts: { limit: SAVED_FILES, unit: "files" },
    });
  }
  try {
    return await context.save({ edits, onConflict: merges(args) ? "merge" : "refuse" }, answer);
  } catch (thrown) {
    throw withMergeCall(thrown, tool, args);
  }
}

/** Adds to a STALE_CONTENT whose every path merges cleanly the call that merges. Anything else is given back as it is. */
export function withMergeCall(thrown: unknown, tool: string, args: JsonMap): unknown {
  if (!(thrown instanceof GinError) || thrown.reason !== "STALE_CONTENT" || !mergesCleanly(thrown)) return thrown;
  const merging: JsonMap = { ...args, on_conflict: "merge" };
  if (JSON.stringify(merging).length > NEXT_CALL_BYTES) return thrown;
  return new GinError("STALE_CONTENT", thrown.message, thrown.suggestion, {
    facts: thrown.facts,
    nextCall: { tool, arguments: merging },
    ...(thrown.detailId === undefined ? {} : { detailId: thrown.detailId }),
    cause: thrown,
  });
}

function mergesCleanly({ facts: { paths, path_count: count } }: GinError): boolean {
  if (!Array.isArray(paths) || paths.length !== count) return false;
  return paths.every((one: Json) => typeof one === "object" && one !== null && "merge" in one && one.merge === "clean");
}

/** The content a path came to have, by what the save says. */
export function savedSha256(outcome: SaveOutcome, path: string): string | undefined {
  return outcome.paths.find((one) => one.path === path)?.content?.sha256;
}

/** Paths whose content is a merge with somebody's later change. */
export function mergedPaths(outcome: SaveOutcome): readonly string[] {
  return outcome.paths.filter((one) => one.merged).map((one) => one.path);
}

/** The checkpoint a save made; "" when it changed nothing. */
export function checkpointOf(outcome: SaveOutcome): string {
  return outcome.noChange ? "" : outcome.checkpoint;
}
