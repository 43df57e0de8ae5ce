import { GinError, Pace } from "../../base/index.ts";
import { flagArg, textArg } from "../args.ts";
import { checksumsOf, refuseOthers } from "../edit/checksums.ts";
import { diffText } from "../edit/edit-file.ts";
import { diffFacts } from "../edit/multi-edit.ts";
import { checkpointOf, mergedPaths, merges, ON_CONFLICT, savedSha256, saveEdits, withMergeCall } from "../edit/saving.ts";
import { type Change, sha256Of, showDiffs } from "../edit/show.ts";
import { dryResult, isStale, staleError } from "../edit/target.ts";
import { bytesOf, encoded } from "../edit/text.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, Tool, ToolResult, WriteContext } from "../types.ts";
import { PatchBench, type Result, type Work } from "./bench.ts";
import { parsePatch, type Section } from "./parse.ts";
import { Steps } from "./seek.ts";
import { type Updated, update } from "./update.ts";

/** apply_patch: files added, deleted, moved and changed by one text, all or none. */
export const applyPatch: Tool = {
  name: "apply_patch",
  description:
    "Apply a patch over one file or many, all of it or none: *** Begin Patch, sections *** Add File: (lines +), *** Delete File:, " +
    "*** Update File: (optionally *** Move to:; changes after @@ lines: blank keeps, - takes out, + puts in), *** End Patch.",
  features: ["dry_run", "checksum", "fuzzy_match", "merge", "atomic", "create", "delete", "move"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      patch: { type: "string", minLength: 1, description: "The patch, from *** Begin Patch to *** End Patch" },
      if_checksums: {
        type: "object",
        properties: {},
        additionalProperties: { type: "string" },
        description: "sha256 of files as you read them, by path",
      },
      if_absent: { type: "boolean", description: "true: files the patch adds must not be there; they never may" },
      dry_run: { type: "boolean", default: false, description: "Show the diff and change nothing" },
      on_conflict: ON_CONFLICT,
    },
    required: ["patch"],
    additionalProperties: false,
  },
  intents: [{ points: 12, any: ["patch", "hunk"] }],
  changes: (args) => !flagArg(args, "dry_run"),
  run,
};

async function run(args: JsonMap, context: WriteContext): Promise<ToolResult> {
  const sections = parsePatch(encoded(textArg(args, "patch"), "args/patch"));
  const checksums = checksumsOf(context, args);
  if (checksums.size > 0) {
    const changed = sections.filter(({ kind }) => kind !== "add").map(({ path }) => context.workspace.canonical(toolPath(path)));
    refuseOthers(checksums, new Set(changed), "names a path that the patch neither updates nor deletes");
  }
  const bench = new PatchBench(context, checksums);
  const fuzzy = await carryOut(context, sections, bench);
  const results = bench.results();
  if (results.length === 0) {
    throw new GinError("EDIT_NO_CHANGE", "the patch leaves every file as it is", "leave it out, or check what was meant", {
      facts: { path: sections[0]?.path ?? "" },
    });
  }
  if (flagArg(args, "dry_run")) return dry(context, args, results, fuzzy);
  const shown = await showDiffs(context, results.map(changeOf));
  const hashes = results.map(({ after }) => (after === null ? "" : sha256Of(after)));
  return saveEdits(context, "apply_patch", args, bench.edits(results), (outcome) => {
    const merged = new Set(mergedPaths(outcome));
    const files = results.map((one, index) => ({
      ...factsOf(one, fuzzy),
      ...(one.after === null ? {} : { sha256: savedSha256(outcome, one.path) ?? hashes[index] ?? "" }),
      ...diffFacts(shown[index]),
      ...(merged.has(one.path) ? { merged: true } : {}),
    }));
    return { result: summary(results, merged), meta: { files }, checkpoint: checkpointOf(outcome) };
  });
}

/** Makes every section's change on the bench; gives, by path, the lines of the patch that were placed loosely. */
async function carryOut(
  context: WriteContext,
  sections: readonly Section[],
  bench: PatchBench,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const steps = new Steps();
  const pace = new Pace(context.clock, context.signal);
  const fuzzy = new Map<string, readonly number[]>();
  for (const section of sections) {
    await pace.next();
    if (section.kind === "add") {
      const work = await bench.absent(section.path);
      work.now = bytesOf(section.content);
      continue;
    }
    if (section.kind === "delete") {
      const work = await bench.present(section.path, true);
      Object.assign(work, { now: null, from: undefined });
      continue;
    }
    const work = await bench.present(section.path, section.moveTo !== undefined);
    const { bytes, fuzzy: loose } = await updated(context, section, work, steps, pace);
    const at = section.moveTo === undefined ? work : await bench.absent(section.moveTo);
    if (at === work && bytes.equals(work.now)) throw unchanged(section, work.path);
    if (at !== work) {
      at.from = work.from ?? (work.found === undefined ? undefined : work.path);
      Object.assign(work, { now: null, from: undefined });
    }
    at.now = bytes;
    fuzzy.set(at.path, [...(fuzzy.get(work.path) ?? []), ...loose]);
  }
  return fuzzy;
}

/** A change that does not fit what the caller saw, of a file that changed since: that it changed is what it must hear of first. */
async function updated(
  context: WriteContext,
  section: Section & { kind: "update" },
  { path, found, now }: Work & { now: Buffer },
  steps: Steps,
  pace: Pace,
): Promise<Updated> {
  try {
    return await update(now, section, path, steps, pace);
  } catch (thrown) {
    throw found !== undefined && isStale(found) ? staleError(context, found, "conflict") : thrown;
  }
}

function unchanged({ at }: Section, path: string): GinError {
  return new GinError("EDIT_NO_CHANGE", `the section at line ${at} of the patch leaves ${path} as it is`, undefined, {
    facts: { path, line: at },
  });
}

async function dry(
  context: WriteContext,
  args: JsonMap,
  results: readonly Result[],
  fuzzy: ReadonlyMap<string, readonly number[]>,
): Promise<ToolResult> {
  const changes = results.map((one): Change => {
    const { target } = one;
    if (target === undefined || !isStale(target)) return changeOf(one);
    if (one.after === null) throw staleError(context, target, "conflict");
    try {
      return { ...changeOf(one), before: target.current.bytes, after: dryResult(context, target, one.after, merges(args)) };
    } catch (thrown) {
      throw withMergeCall(thrown, "apply_patch", args);
    }
  });
  const shown = await showDiffs(context, changes);
  const files = results.map((one, index) => {
    const after = changes[index]?.after ?? null;
    return { ...factsOf(one, fuzzy), ...(after === null ? {} : { sha256: sha256Of(after) }), ...diffFacts(shown[index]) };
  });
  return { result: shown.map(diffText).join(""), meta: { files } };
}

function changeOf({ path, from, before, after }: Result): Change {
  return { path, ...(from === undefined ? {} : { from }), before, after };
}

function factsOf({ path, op, from }: Result, fuzzy: ReadonlyMap<string, readonly number[]>): JsonMap {
  const loose = fuzzy.get(path);
  const how = loose === undefined ? {} : { matchType: loose.length > 0 ? "fuzzy" : "exact", fuzzyLines: [...loose] };
  return { path, op, ...(from === undefined ? {} : { from }), ...how };
}

const LETTERS = { add: "A", update: "M", delete: "D", move: "R" } as const;

/** Files named in one answer. */
const SHOWN_FILES = 200;

function summary(results: readonly Result[], merged: ReadonlySet<string>): string {
  const lines = results.slice(0, SHOWN_FILES).map(({ path, op, from }) => {
    const name = from === undefined ? path : `${from} -> ${path}`;
    return `${LETTERS[op]} ${name}${merged.has(path) ? " (merged with a later change)" : ""}`;
  });
  const more = results.length > SHOWN_FILES ? [`... and ${results.length - SHOWN_FILES} more`] : [];
  return [`applied the patch: ${results.length} ${results.length === 1 ? "file" : "files"}`, ...lines, ...more].join("\n");
}
