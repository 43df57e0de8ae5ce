import { GinError } from "../../base/index.ts";
import { CHANGE_BYTES } from "../../workspace/index.ts";
import { flagArg, textArg } from "../args.ts";
import { diffText } from "../edit/edit-file.ts";
import { diffFacts } from "../edit/multi-edit.ts";
import { checkpointOf, mergedPaths, merges, ON_CONFLICT, savedSha256, saveEdits, withMergeCall } from "../edit/saving.ts";
import { sha256Of, showDiff } from "../edit/show.ts";
import { checksumArg, dryResult, type EditTarget, openTarget } from "../edit/target.ts";
import { bytesOf, encoded } from "../edit/text.ts";
import { loadFile } from "../files/load.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, Tool, ToolResult, WriteContext } from "../types.ts";

/** write_file: a whole file, where the caller has said what is there now. */
export const writeFile: Tool = {
  name: "write_file",
  description:
    "Write a whole file. A file that is there needs if_checksum (its sha256 as you read it), a new one needs if_absent: true. " +
    "Parent directories are made.",
  features: ["dry_run", "checksum", "create", "merge"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Path in the workspace, with /" },
      content: { type: "string", description: "The whole new content" },
      dry_run: { type: "boolean", default: false, description: "Show the diff and change nothing" },
      if_checksum: { type: "string", description: "sha256 of the file as you read it; needed when it is there" },
      if_absent: { type: "boolean", description: "true: there must be no such file yet" },
      on_conflict: ON_CONFLICT,
    },
    required: ["path", "content"],
    additionalProperties: false,
  },
  intents: [{ points: 7, any: ["write", "create", "overwrite", "new"], also: [["file"]] }],
  changes: (args) => !flagArg(args, "dry_run"),
  run,
};

async function run(args: JsonMap, context: WriteContext): Promise<ToolResult> {
  const path = toolPath(textArg(args, "path"));
  const content = bytesOf(encoded(textArg(args, "content"), "args/content"));
  const checksum = checksumArg(args);
  const absent = flagArg(args, "if_absent");
  if (checksum !== undefined && absent) throw invalid("if_absent", "contradicts if_checksum", "give one of the two");
  if (flagArg(args, "dry_run")) return dry(args, context, path, content, checksum, absent);
  const target = await current(context, path, checksum);
  if (target === undefined && !absent) throw invalid("if_absent", `is needed: ${path} is not there`, "if_absent: true makes it");
  if (target !== undefined && checksum === undefined && !absent) {
    throw invalid("if_checksum", `is needed: ${path} is there already`, "read it first and give its sha256");
  }
  const at = target?.path ?? path;
  const expect = absent ? "absent" : (target?.sha256 ?? "absent");
  const sha256 = sha256Of(content);
  const shown = await showDiff(context, { path: at, before: target?.bytes ?? null, after: content });
  return saveEdits(context, "write_file", args, [{ path: at, expect, content }], (outcome) => {
    const merged = mergedPaths(outcome).length > 0;
    const saved = outcome.paths[0]?.content;
    const how = outcome.noChange ? "no changes: it had this content" : merged ? "merged with a later change" : "";
    return {
      result: `wrote ${saved?.size ?? content.byteLength} bytes to ${at}${how === "" ? "" : ` (${how})`}`,
      meta: {
        path: at,
        bytes: saved?.size ?? content.byteLength,
        sha256: savedSha256(outcome, at) ?? sha256,
        created: target === undefined,
        ...diffFacts(shown),
        ...(merged ? { merged } : {}),
      },
      checkpoint: checkpointOf(outcome),
    };
  });
}

/** What is at the path; undefined when nothing is and no checksum says otherwise. */
async function current(context: WriteContext, path: string, checksum: string | undefined): Promise<EditTarget | undefined> {
  if (checksum !== undefined) return openTarget(context, path, checksum);
  try {
    const { path: canonical, bytes, sha256 } = await loadFile(context, path, CHANGE_BYTES);
    return { path: canonical, bytes, sha256, current: { bytes, sha256 } };
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return undefined;
    throw thrown;
  }
}

async function dry(
  args: JsonMap,
  context: WriteContext,
  path: string,
  content: Buffer,
  checksum: string | undefined,
  absent: boolean,
): Promise<ToolResult> {
  const target = await current(context, path, checksum);
  if (target === undefined) {
    return {
      result: `[dry-run] would create ${path} (${content.byteLength} bytes)`,
      meta: { path, bytes: content.byteLength, sha256: sha256Of(content), created: true },
    };
  }
  if (absent) {
    throw new GinError("STALE_CONTENT", `${path} is there already`, "read it, and give if_checksum to replace it", {
      facts: { paths: [{ path: target.path, current_sha256: target.current.sha256, merge: "conflict" }], path_count: 1 },
    });
  }
  let after: Buffer;
  try {
    after = dryResult(context, target, content, merges(args));
  } catch (thrown) {
    throw withMergeCall(thrown, "write_file", args);
  }
  const meta = { path: target.path, bytes: after.byteLength, sha256: sha256Of(after), created: false };
  if (after.equals(target.current.bytes)) return { result: "no changes", meta };
  const shown = await showDiff(context, { path: target.path, before: target.current.bytes, after });
  return { result: diffText(shown), meta: { ...meta, ...diffFacts(shown) } };
}

function invalid(field: string, says: string, suggestion: string): GinError {
  return new GinError("INVALID_REQUEST", `args/${field}: ${says}`, suggestion, { facts: { field: `args/${field}` } });
}
