import { flagArg } from "../args.ts";
import type { JsonMap, Tool, ToolResult, WriteContext } from "../types.ts";
import { carryOut, type Edited, editOf, type Place, type TextEdit } from "./one-edit.ts";
import { checkpointOf, IF_CHECKSUM, mergedPaths, merges, ON_CONFLICT, savedSha256, saveEdits, withMergeCall } from "./saving.ts";
import { contextBlock, SHOW_CONTEXT, type ShownDiff, sha256Of, showDiff } from "./show.ts";
import { checksumArg, dryResult, type EditTarget, isStale, openTarget, staleError } from "./target.ts";
import { bytesOf, decoded, fileText } from "./text.ts";

/** edit_file: one text for another, where it stands exactly once. */
export const editFile: Tool = {
  name: "edit_file",
  description:
    "Replace one text of a file by another. old_text must be there exactly once; blanks at line ends and typographic quotes, dashes " +
    "and spaces may differ. Nothing else of the file changes.",
  features: ["dry_run", "checksum", "fuzzy_match", "merge"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Path in the workspace, with /" },
      old_text: { type: "string", description: "Text to be replaced, with enough around it to be there once" },
      new_text: { type: "string", description: "Text to put there, as it is: no character has a meaning" },
      dry_run: { type: "boolean", default: false, description: "Show the diff and change nothing" },
      fuzzy_indent: { type: "boolean", default: false, description: "Give new_text the indentation of the place" },
      show_context: SHOW_CONTEXT,
      if_checksum: IF_CHECKSUM,
      on_conflict: ON_CONFLICT,
    },
    required: ["path", "old_text", "new_text"],
    additionalProperties: false,
  },
  intents: [
    { points: 8, any: ["edit", "replace", "change", "modify", "fix"], also: [["file", "text", "line", "code"]] },
    { points: 12, any: ["replace"], also: [["single", "one", "exact"]] },
  ],
  changes: (args) => !flagArg(args, "dry_run"),
  run,
};

async function run(args: JsonMap, context: WriteContext): Promise<ToolResult> {
  const edit = editOf(args);
  const target = await openTarget(context, edit.path, checksumArg(args));
  const edited = attempt(context, target, edit);
  const wanted = bytesOf(edited.raw);
  if (flagArg(args, "dry_run")) {
    const after = dry(context, target, wanted, args);
    const shown = await showDiff(context, { path: target.path, before: target.current.bytes, after });
    return { result: diffText(shown), meta: metaOf(edited, shown, sha256Of(after), false) };
  }
  const shown = await showDiff(context, { path: target.path, before: target.bytes, after: wanted });
  const sha256 = sha256Of(wanted);
  const edits = [{ path: target.path, expect: target.sha256, content: wanted }];
  return saveEdits(context, "edit_file", args, edits, (outcome) => {
    const merged = mergedPaths(outcome).length > 0;
    return {
      result: summary(target, edit, edited, merged),
      meta: metaOf(edited, shown, savedSha256(outcome, target.path) ?? sha256, merged),
      checkpoint: checkpointOf(outcome),
    };
  });
}

/** An old text that is not in what the caller saw, of a file that changed since: the change is what it must hear of first. */
function attempt(context: WriteContext, target: EditTarget, edit: TextEdit): Edited {
  try {
    return carryOut(fileText(target.bytes, target.path), edit, target.path);
  } catch (thrown) {
    throw isStale(target) ? staleError(context, target, "conflict") : thrown;
  }
}

function dry(context: WriteContext, target: EditTarget, wanted: Buffer, args: JsonMap): Buffer {
  try {
    return dryResult(context, target, wanted, merges(args));
  } catch (thrown) {
    throw withMergeCall(thrown, "edit_file", args);
  }
}

/** A diff as an answer's text. */
export function diffText({ diff, left }: ShownDiff): string {
  if (left === "") return diff;
  return `${diff}[the diff is not all shown: ${left.replaceAll("_", " ")}]`;
}

/** Says what one edit did, in lines of the file it was made for. */
export function lineOf(path: string, edited: Place): string {
  const { firstLine, lastLine, newLines, match } = edited;
  const count = lastLine - firstLine + 1;
  const lines = firstLine === lastLine ? `line ${firstLine}` : `lines ${firstLine}-${lastLine}`;
  const fuzzy = match.fuzzy ? " (fuzzy match)" : "";
  return `edited ${path}: ${lines} (${count} ${count === 1 ? "line" : "lines"}) replaced with ${newLines} ${newLines === 1 ? "line" : "lines"}${fuzzy}`;
}

function summary(target: EditTarget, edit: TextEdit, edited: Edited, merged: boolean): string {
  const line = `${lineOf(target.path, edited)}${merged ? " (merged with a later change)" : ""}`;
  const text = edit.showContext > 0 ? decoded(edited.raw) : undefined;
  if (text === undefined) return line;
  return `${line}\n${contextBlock(text, edited.firstLine, edited.firstLine + edited.newLines - 1, edit.showContext)}`;
}

function metaOf(edited: Edited, shown: ShownDiff, sha256: string, merged: boolean): JsonMap {
  return {
    edit: {
      diff: shown.diff,
      ...(shown.left === "" ? {} : { diffCut: shown.left }),
      firstChangedLine: edited.firstLine,
      lastChangedLine: Math.max(edited.firstLine, edited.firstLine + edited.newLines - 1),
      matchType: edited.match.fuzzy ? "fuzzy" : "exact",
      fuzzyNormalized: edited.match.fuzzy,
    },
    sha256,
    ...(merged ? { merged } : {}),
  };
}
