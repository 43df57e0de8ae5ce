import { GinError, type Json } from "../../base/index.ts";
import { planUndo, type UndoEdit, type UndoPlan } from "../../history/index.ts";
import type { Checkpoint } from "../../store/index.ts";
import { flagArg, numberArg, textArg } from "../args.ts";
import { diffText } from "../edit/edit-file.ts";
import { checkpointOf } from "../edit/saving.ts";
import { type Change, showDiffs } from "../edit/show.ts";
import { checksumArg } from "../edit/target.ts";
import { binaryOf, decoded } from "../edit/text.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, ReadContext, Tool, ToolResult, WriteContext } from "../types.ts";
import { bounded, conflictFacts, refusal, undoneFacts } from "./conflicts.ts";
import { currentPath } from "./current.ts";
import { describe, findEntry, ownEntries, PREFIX_CHARACTERS } from "./entries.ts";
import { undoable } from "./rights.ts";

/** Most that one undo takes on; as the Undo operation. */
const LIMITS = { paths: 10_000, bytes: 256 * 1024 * 1024 };
const SHOWN_BYTES = 24 * 1024;
const SHOWN_PATHS = 200;

/** undo: what the caller's own calls did, listed, looked at, taken back and made again. */
export const undo: Tool = {
  name: "undo",
  description:
    "Your own changes of this workspace: list them, preview what taking one back would do, restore what was before it, redo an undo, " +
    "clear the list. Later work on the same files stays: what stands in the way is told. Preview gives the call that restores.",
  features: ["list", "preview", "restore", "redo", "clear", "checksum"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["list", "preview", "restore", "redo", "clear"], description: "What to do" },
      id: { type: "string", minLength: PREFIX_CHARACTERS, description: "Id of an entry, or its unique start" },
      if_checksum: { type: "string", description: "restore, redo: sha256 of the one file it changes, as it is now" },
      if_absent: { type: "boolean", description: "restore, redo: true when the one file it brings back is not there now" },
      if_checksums: {
        type: "object",
        properties: {},
        additionalProperties: { type: "string" },
        description: 'restore, redo of several files: sha256 of each as it is now, or "absent"; preview gives them',
      },
      skip_conflicts: {
        type: "boolean",
        default: false,
        description: "restore, redo: leave files as they are where later work is in the way",
      },
      limit: { type: "integer", minimum: 1, maximum: 1000, default: 50, description: "list: most entries" },
    },
    required: ["action"],
    additionalProperties: false,
  },
  intents: [{ points: 11, any: ["undo", "revert", "restore", "rollback", "redo"] }],
  changes: (args) => args.action === "restore" || args.action === "redo" || args.action === "clear",
  async run(args, context) {
    switch (args.action) {
      case "preview":
        return preview(context, args);
      case "restore":
      case "redo":
        return takeBack(context, args, args.action);
      case "clear":
        return clear(context);
      default:
        return list(context, numberArg(args, "limit", 50));
    }
  },
};

async function list(context: ReadContext, limit: number): Promise<ToolResult> {
  const { entries, whole } = await ownEntries(context);
  const shown = await describe(context, entries.slice(0, limit));
  const answer = { entries: shown, count: shown.length, total: entries.length, totalExact: whole };
  return { result: JSON.stringify(answer) };
}

async function clear(context: WriteContext): Promise<ToolResult> {
  const { store, workspace, caller } = context;
  context.requireScope("save");
  // Before they are counted: what is made meanwhile stays in the list.
  const { generation } = workspace.state();
  const { entries } = await ownEntries(context);
  const result: ToolResult = {
    result: `cleared ${entries.length} ${entries.length === 1 ? "entry" : "entries"}; the history itself stays, gin log shows it`,
    meta: { cleared: entries.length },
  };
  await store.write("undo.clear", {
    workspace: workspace.rowid,
    principal: caller.principal,
    generation,
    request: context.record(result),
  });
  return result;
}

/** What an entry's undo would do, and the entry. Throws INVALID_REQUEST without an id, or for a redo of what is no undo. */
async function planned(context: ReadContext, args: JsonMap): Promise<{ readonly entry: Checkpoint; readonly plan: UndoPlan }> {
  const id = textArg(args, "id");
  if (id === "") throw invalid("id", "is needed", "undo list gives the ids");
  const entry = undoable(await findEntry(context, id));
  if (args.action === "redo" && entry.cause !== "undo") {
    throw invalid("id", `names a checkpoint of cause ${entry.cause}, not an undo`, "restore takes it back");
  }
  const { workspace, store, differ, clock, signal } = context;
  const view = {
    workspace: workspace.rowid,
    reader: store.read,
    trees: store.trees,
    differ,
    clock,
    current: (path: string) => currentPath(context, path),
    signal,
  };
  return { entry, plan: await planUndo(view, [{ checkpoint: entry }], flagArg(args, "skip_conflicts"), LIMITS) };
}

async function preview(context: ReadContext, args: JsonMap): Promise<ToolResult> {
  const { entry, plan } = await planned(context, args);
  const changes: Change[] = [];
  const lines: string[] = [];
  for (const edit of plan.edits) {
    if (edit.delete === true) lines.push(`would delete ${edit.path}\n`);
    else if (edit.link !== undefined) lines.push(`would make ${edit.path} a symlink\n`);
    else changes.push(await changeOf(context, edit));
  }
  const shown = await showDiffs(context, changes);
  const conflicts = plan.paths.filter((one) => one.conflict !== undefined);
  const kept = conflicts.map((one) => `cannot take ${one.path} back: ${one.conflict}\n`);
  const nothing = plan.edits.length === 0 && conflicts.length === 0 ? ["nothing to take back: it is as it was\n"] : [];
  const meta = { id: entry.id, clean: plan.clean, undone: shownIds(plan), paths: bounded(plan.paths, undoneFacts).paths };
  const result = [...lines, ...shown.map(diffText), ...kept, ...nothing].join("");
  if (plan.edits.length === 0 || plan.edits.length > SHOWN_PATHS) return { result, meta };
  return { result, meta, nextCall: { tool: "undo", arguments: restoreCall(entry, plan) } };
}

async function changeOf(context: ReadContext, edit: UndoEdit): Promise<Change> {
  const bytes = edit.expect === "absent" ? null : Buffer.from((await (await currentPath(context, edit.path)).bytes()) ?? []);
  const after = edit.content === undefined ? bytes : Buffer.from(edit.content);
  return edit.renameTo === undefined
    ? { path: edit.path, before: bytes, after }
    : { path: edit.renameTo, from: edit.path, before: bytes, after };
}

/** The call that takes an entry back, if nothing changes meanwhile. */
function restoreCall(entry: Checkpoint, plan: UndoPlan): JsonMap {
  const call = {
    action: entry.cause === "undo" ? "redo" : "restore",
    id: entry.id,
    ...(plan.clean ? {} : { skip_conflicts: true }),
  };
  const [only] = plan.edits;
  if (plan.edits.length !== 1 || only === undefined) {
    return { ...call, if_checksums: Object.fromEntries(plan.edits.map(({ path, expect }) => [path, expect])) };
  }
  return only.expect === "absent" ? { ...call, if_absent: true } : { ...call, if_checksum: only.expect };
}

async function takeBack(context: WriteContext, args: JsonMap, action: "restore" | "redo"): Promise<ToolResult> {
  const { entry, plan } = await planned(context, args);
  checkExpected(context, args, plan.edits);
  if (!plan.clean && !flagArg(args, "skip_conflicts")) {
    const conflicts = plan.paths.filter((one) => one.conflict !== undefined);
    const skipping = { tool: "undo", arguments: { ...args, skip_conflicts: true } };
    throw refusal(plan, bounded(conflicts, conflictFacts), undefined, plan.edits.length > 0 ? skipping : undefined);
  }
  const meta = { id: entry.id, clean: plan.clean, undone: shownIds(plan), paths: bounded(plan.paths, undoneFacts).paths };
  if (plan.edits.length === 0) return context.unchanged({ result: "nothing to take back: it is as it was", meta });
  const cause = action === "redo" ? "redo" : "undo";
  const undoes = plan.undone.slice(0, LIMITS.paths);
  return context.save({ edits: plan.edits, cause, undoes, message: `${action} ${entry.id}` }, (outcome) => ({
    result: summary(action, entry, plan),
    meta,
    checkpoint: checkpointOf(outcome),
  }));
}

function shownIds(plan: UndoPlan): string[] {
  return plan.undone.slice(0, SHOWN_PATHS);
}

/**
 * Compares what the caller says is there with what is. Throws INVALID_REQUEST for a file it says nothing of, STALE_CONTENT with the
 * current text for one that is another.
 */
function checkExpected(context: ReadContext, args: JsonMap, edits: readonly UndoEdit[]): void {
  const checksum = checksumArg(args);
  const absent = flagArg(args, "if_absent");
  if (checksum !== undefined && absent) throw invalid("if_absent", "contradicts if_checksum", "give one of the two");
  const given = new Map(
    Object.entries((args.if_checksums ?? {}) as JsonMap).map(([path, value]) => [toolPath(path), String(value).toLowerCase()]),
  );
  if (edits.length > 1 && (checksum !== undefined || absent)) {
    throw invalid("if_checksums", `is needed: ${edits.length} files change`, "undo preview gives the call");
  }
  const stale: Json[] = [];
  for (const { path, expect } of edits) {
    const said = checksum ?? (absent ? "absent" : given.get(path));
    if (said === undefined) {
      const field = edits.length > 1 ? "if_checksums" : expect === "absent" ? "if_absent" : "if_checksum";
      throw invalid(field, `is needed for ${path}`, "undo preview gives the call");
    }
    if (said !== expect) stale.push(staleFacts(context, path, expect));
  }
  if (stale.length === 0) return;
  throw new GinError("STALE_CONTENT", "a file is not what the call says", "preview again", {
    facts: { paths: stale.slice(0, SHOWN_PATHS), path_count: stale.length },
  });
}

function staleFacts({ store }: ReadContext, path: string, current: string): Json {
  const bytes = current === "absent" ? undefined : store.read.object(current);
  const text = bytes === undefined || bytes.byteLength > SHOWN_BYTES ? undefined : decoded(binaryOf(bytes));
  return { path, current_sha256: current, merge: "conflict", ...(text === undefined ? {} : { current_text: text }) };
}

function summary(action: "restore" | "redo", entry: Checkpoint, plan: UndoPlan): string {
  const lines = plan.edits.slice(0, SHOWN_PATHS).map(({ path, expect, delete: gone, renameTo }) => {
    if (renameTo !== undefined) return `R ${path} -> ${renameTo}`;
    return `${gone === true ? "D" : expect === "absent" ? "A" : "M"} ${path}`;
  });
  const more = plan.edits.length > SHOWN_PATHS ? [`... and ${plan.edits.length - SHOWN_PATHS} more`] : [];
  const skipped = plan.paths.filter((one) => one.outcome === "skipped").map((one) => `left ${one.path}: ${one.conflict}`);
  const what = action === "redo" ? "redid" : "restored";
  const count = plan.edits.length;
  return [
    `${what} ${entry.id}: ${count} ${count === 1 ? "file" : "files"}`,
    ...lines,
    ...more,
    ...skipped.slice(0, SHOWN_PATHS),
  ].join("\n");
}

function invalid(field: string, says: string, suggestion: string): GinError {
  return new GinError("INVALID_REQUEST", `args/${field}: ${says}`, suggestion, { facts: { field: `args/${field}` } });
}
