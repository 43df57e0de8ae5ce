import { GinError, type Json, Pace, type Reason } from "../../base/index.ts";
import { flagArg, objectsArg } from "../args.ts";
import { codeOf } from "../codes.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, Tool, ToolResult, WriteContext } from "../types.ts";
import { diffText, lineOf } from "./edit-file.ts";
import { FileEdits, type IndexedEdit, type Outcome } from "./file-edits.ts";
import { editOf } from "./one-edit.ts";
import { checkpointOf, IF_CHECKSUM, mergedPaths, merges, ON_CONFLICT, savedSha256, saveEdits, withMergeCall } from "./saving.ts";
import { contextBlock, SHOW_CONTEXT, type ShownDiff, sha256Of, showDiffs } from "./show.ts";
import { checksumArg, dryResult, type EditTarget, isStale, openTarget, Room, staleError } from "./target.ts";

/** multi_edit: several edits, over one file or many, all or none. */
export const multiEdit: Tool = {
  name: "multi_edit",
  description:
    "Several edits as edit_file makes them, over one file or many: all of them or none. They are made in the order given; each sees " +
    "what the ones before it made of its file.",
  features: ["dry_run", "checksum", "fuzzy_match", "merge", "atomic"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      edits: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          properties: {
            path: { type: "string", minLength: 1, description: "Path in the workspace, with /" },
            old_text: { type: "string", description: "Text to be replaced, there exactly once when its turn comes" },
            new_text: { type: "string", description: "Text to put there, as it is" },
            if_checksum: IF_CHECKSUM,
            fuzzy_indent: { type: "boolean", default: false, description: "Give new_text the indentation of the place" },
            show_context: SHOW_CONTEXT,
          },
          required: ["path", "old_text", "new_text"],
          additionalProperties: false,
        },
      },
      dry_run: { type: "boolean", default: false, description: "Show the diffs and change nothing" },
      on_conflict: ON_CONFLICT,
    },
    required: ["edits"],
    additionalProperties: false,
  },
  intents: [{ points: 12, any: ["edit", "replace", "change", "modify"], also: [["several", "many", "multiple", "batch"]] }],
  changes: (args) => !flagArg(args, "dry_run"),
  run,
};

/** Lines about edits in one answer. */
const SHOWN_EDITS = 100;

/** Why one edit or its file may fail without that keeping the others from being looked at. */
const COLLECTED: ReadonlySet<Reason> = new Set([
  "EDIT_NOT_FOUND",
  "EDIT_NOT_UNIQUE",
  "EDIT_NO_CHANGE",
  "EDIT_OVERLAP",
  "BINARY_FILE",
  "PATH_NOT_FOUND",
  "NOT_A_FILE",
  "TOO_LARGE",
  "STALE_CONTENT",
]);

interface Failure {
  readonly edit: IndexedEdit;
  /** Canonical. */
  readonly path: string;
  readonly error: GinError;
}

interface Done {
  readonly edit: IndexedEdit;
  readonly path: string;
  readonly outcome: Outcome;
  /** The changed lines with those around them; "" where they were not asked for, or are not shown. */
  readonly block: string;
}

async function run(args: JsonMap, context: WriteContext): Promise<ToolResult> {
  const given = objectsArg(args, "edits");
  const edits = given.map((one, index): IndexedEdit => ({ ...editOf(one, `edits/${index}/`, index), index }));
  const { files, done, failures } = await carryOutAll(context, given, edits);
  if (failures.length > 0) throw refused(context, files, failures, edits.length);
  const changed = [...files.values()];
  if (flagArg(args, "dry_run")) return dry(context, args, changed, done);
  const changes = changed.map((file) => ({ path: file.target.path, before: file.target.bytes, after: file.bytes }));
  const shown = await showDiffs(context, changes);
  const hashes = changes.map(({ after }) => sha256Of(after));
  const saving = changes.map(({ path, after }, index) => ({
    path,
    expect: changed[index]?.target.sha256 ?? "absent",
    content: after,
  }));
  return saveEdits(context, "multi_edit", args, saving, (outcome) => {
    const merged = new Set(mergedPaths(outcome));
    const meta = changes.map(({ path }, index) => ({
      path,
      sha256: savedSha256(outcome, path) ?? hashes[index] ?? "",
      ...diffFacts(shown[index]),
      ...(merged.has(path) ? { merged: true } : {}),
    }));
    return { result: summary(done, merged), meta: { files: meta, edits: editFacts(done) }, checkpoint: checkpointOf(outcome) };
  });
}

/** Every edit in its turn; what fails is put aside, so that all of it can be told at once. */
async function carryOutAll(
  context: WriteContext,
  given: readonly JsonMap[],
  edits: readonly IndexedEdit[],
): Promise<{ files: Map<string, FileEdits>; done: Done[]; failures: Failure[] }> {
  const files = new Map<string, FileEdits>();
  const broken = new Set<string>();
  const done: Done[] = [];
  const failures: Failure[] = [];
  const pace = new Pace(context.clock, context.signal);
  const room = new Room();
  const canonical = canonically(context);
  const checksums = checksumsOf(canonical, given, edits);
  for (const edit of edits) {
    // Past so many, what else may be wrong helps nobody and may take long.
    if (failures.length >= SHOWN_EDITS) break;
    await pace.next();
    const path = canonical(edit.path);
    if (broken.has(path)) continue;
    try {
      const file = files.get(path) ?? new FileEdits(await opened(context, edit.path, checksums.get(path), room));
      files.set(path, file);
      const outcome = file.apply(edit);
      // Made while the text is what this edit made of it: to keep that text for each edit takes the file's size times as many.
      const block = done.length < SHOWN_EDITS ? blockOf(file, edit, outcome) : "";
      done.push({ edit, path, outcome, block });
    } catch (thrown) {
      if (!(thrown instanceof GinError) || !COLLECTED.has(thrown.reason)) throw thrown;
      failures.push({ edit, path, error: thrown });
      // A file that cannot be opened is told of once.
      if (!files.has(path)) broken.add(path);
    }
  }
  return { files, done, failures };
}

async function opened(context: WriteContext, path: string, checksum: string | undefined, room: Room): Promise<EditTarget> {
  const target = await openTarget(context, path, checksum);
  room.take(target);
  return target;
}

function blockOf(file: FileEdits, { showContext }: IndexedEdit, outcome: Outcome): string {
  if (showContext === 0 || outcome.kind === "repeated") return "";
  const { firstLine, newLines } = outcome.edited;
  const text = file.text;
  return text === undefined ? "" : `\n${contextBlock(text, firstLine, firstLine + newLines - 1, showContext)}`;
}

/** Canonical paths, walked once a spelling. */
function canonically({ workspace }: WriteContext): (path: string) => string {
  const known = new Map<string, string>();
  return (path) => {
    const found = known.get(path) ?? workspace.canonical(toolPath(path));
    known.set(path, found);
    return found;
  };
}

/** The checksum of each file, by its canonical path. Throws INVALID_REQUEST for two of one file. */
function checksumsOf(
  canonical: (path: string) => string,
  given: readonly JsonMap[],
  edits: readonly IndexedEdit[],
): Map<string, string> {
  const found = new Map<string, string>();
  for (const edit of edits) {
    const checksum = checksumArg(given[edit.index] ?? {});
    if (checksum === undefined) continue;
    const path = canonical(edit.path);
    const known = found.get(path);
    if (known !== undefined && known !== checksum) {
      const field = `args/edits/${edit.index}/if_checksum`;
      throw new GinError(
        "INVALID_REQUEST",
        `${field}: is another than an earlier edit of ${edit.path} has`,
        "give the checksum of the file as it was before the call",
        {
          facts: { field },
        },
      );
    }
    found.set(path, checksum);
  }
  return found;
}

function refused(
  context: WriteContext,
  files: ReadonlyMap<string, FileEdits>,
  failures: readonly Failure[],
  count: number,
): GinError {
  // That a file changed explains only what failed in that file.
  const failed = new Set(failures.map(({ path }) => path));
  const stale = [...files]
    .filter(([path, { target }]) => failed.has(path) && isStale(target))
    .map(([, { target }]) => staleError(context, target, "conflict"));
  const told = failures.filter(({ error }) => error.reason === "STALE_CONTENT").map(({ error }) => error);
  const all = [...told, ...stale];
  if (all[0] !== undefined) {
    const paths = all.flatMap(({ facts }) => facts.paths as readonly Json[]);
    const more = all.length > 1 ? ` and ${all.length - 1} more` : "";
    return new GinError("STALE_CONTENT", `${all[0].message}${more}`, all[0].suggestion, {
      facts: { paths, path_count: paths.length },
    });
  }
  const [first] = failures as [Failure, ...Failure[]];
  const lines = failures.map(({ edit, error }) => `edit ${edit.index} (${edit.path}): ${error.message}`);
  const head = failures.length === 1 ? "" : `${failures.length} of ${count} edits cannot be made, so none was:\n`;
  const more = failures.length === SHOWN_EDITS ? "\n(and perhaps more)" : "";
  const facts = failures.map(({ edit, error }) => ({
    ...error.facts,
    index: edit.index,
    path: edit.path,
    error: error.message,
    error_code: codeOf(error),
  }));
  return new GinError(first.error.reason, `${head}${lines.join("\n")}${more}`, first.error.suggestion, {
    facts: { ...first.error.facts, index: first.edit.index, edits: facts },
  });
}

async function dry(
  context: WriteContext,
  args: JsonMap,
  files: readonly FileEdits[],
  done: readonly Done[],
): Promise<ToolResult> {
  const changes = files.map((file) => {
    const { target } = file;
    try {
      return { path: target.path, before: target.current.bytes, after: dryResult(context, target, file.bytes, merges(args)) };
    } catch (thrown) {
      throw withMergeCall(thrown, "multi_edit", args);
    }
  });
  const shown = await showDiffs(context, changes);
  const meta = changes.map(({ path, after }, index) => ({ path, sha256: sha256Of(after), ...diffFacts(shown[index]) }));
  return { result: shown.map(diffText).join(""), meta: { files: meta, edits: editFacts(done) } };
}

/** A diff as a file's facts say it. */
export function diffFacts(shown: ShownDiff | undefined): { readonly diff: string; readonly diffCut?: string } {
  if (shown === undefined) return { diff: "" };
  return shown.left === "" ? { diff: shown.diff } : { diff: shown.diff, diffCut: shown.left };
}

function summary(done: readonly Done[], merged: ReadonlySet<string>): string {
  const made = done.filter(({ outcome }) => outcome.kind === "done").length;
  const lines = done.slice(0, SHOWN_EDITS).map(({ edit, path, outcome, block }) => {
    if (outcome.kind === "repeated") return `skipped ${path}: edit ${edit.index} is edit ${outcome.of} again`;
    return `${lineOf(path, outcome.edited)}${block}`;
  });
  const more = done.length > SHOWN_EDITS ? [`... and ${done.length - SHOWN_EDITS} more`] : [];
  const also = [...merged].map((path) => `merged ${path} with a later change`);
  return [`applied ${made} ${made === 1 ? "edit" : "edits"}`, ...lines, ...more, ...also].join("\n");
}

function editFacts(done: readonly Done[]): Json[] {
  return done.map(({ edit, path, outcome }) => {
    if (outcome.kind === "repeated") return { index: edit.index, path, skipped: true, sameAs: outcome.of };
    const { firstLine, newLines, match } = outcome.edited;
    return {
      index: edit.index,
      path,
      firstChangedLine: firstLine,
      lastChangedLine: Math.max(firstLine, firstLine + newLines - 1),
      matchType: match.fuzzy ? "fuzzy" : "exact",
      fuzzyNormalized: match.fuzzy,
    };
  });
}
