import { GinError, type Json, revive } from "../../base/index.ts";
import { flagArg, textArg } from "../args.ts";
import { codeOf } from "../codes.ts";
import { checksumsOf } from "../edit/checksums.ts";
import { diffText } from "../edit/edit-file.ts";
import { diffFacts } from "../edit/multi-edit.ts";
import { checkpointOf, mergedPaths, merges, ON_CONFLICT, savedSha256, saveEdits, withMergeCall } from "../edit/saving.ts";
import { sha256Of, showDiffs } from "../edit/show.ts";
import { dryResult, type EditTarget } from "../edit/target.ts";
import { encoded } from "../edit/text.ts";
import type { JsonMap, Tool, ToolResult, WriteContext } from "../types.ts";
import type { ReplacedFile } from "./messages.ts";
import { type Candidate, candidates, REPLACED_FILES, REPLACED_TOTAL } from "./targets.ts";
import { replaceInThread } from "./thread.ts";

/** search_replace: one expression over several files, all or none of them. */
export const searchReplace: Tool = {
  name: "search_replace",
  description:
    "Replace what a regular expression (RE2) matches in up to 50 files, in all of them or none. files: files, directories or globs; " +
    "$1 and $name (in braces where letters follow) in the replacement stand for groups, $$ for a dollar.",
  features: ["regex", "dry_run", "checksum", "merge", "atomic", "glob"],
  risk: "mutating",
  schema: {
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, description: "RE2 expression" },
      replacement: { type: "string", description: "What to put there; may be empty" },
      files: {
        description: "A file, directory or glob, or up to 50 of them",
        oneOf: [
          { type: "string", minLength: 1 },
          { type: "array", items: { type: "string", minLength: 1 }, minItems: 1, maxItems: REPLACED_FILES },
        ],
      },
      include: { type: "string", description: "Glob: only files it matches; without a slash it matches names at any depth" },
      if_checksums: {
        type: "object",
        properties: {},
        additionalProperties: { type: "string" },
        description: "sha256 of files as you read them, by path",
      },
      case_insensitive: { type: "boolean", default: false, description: "Match without regard to case" },
      multiline: { type: "boolean", default: true, description: "^ and $ match at every line" },
      dry_run: { type: "boolean", default: false, description: "Show the diffs and change nothing" },
      on_conflict: ON_CONFLICT,
    },
    required: ["pattern", "replacement", "files"],
    additionalProperties: false,
  },
  intents: [
    {
      points: 8,
      any: ["replace", "regex", "rename", "substitute"],
      also: [["across", "bulk", "many", "repo", "files", "everywhere"]],
    },
    // A language server renames too, but by what a name means and not by a pattern.
    { points: 12, any: ["regex", "pattern"], also: [["replace"], ["across", "bulk", "many", "repo", "files", "everywhere"]] },
  ],
  changes: (args) => !flagArg(args, "dry_run"),
  run,
};

/** A file after the expression went over it. */
interface Outcome {
  readonly candidate: Candidate;
  readonly done: (ReplacedFile & { kind: "done" }) | undefined;
  readonly error: GinError | undefined;
}

interface Changed extends Outcome {
  readonly target: EditTarget;
  readonly after: Buffer;
}

async function run(args: JsonMap, context: WriteContext): Promise<ToolResult> {
  const outcomes = await outcomesOf(args, context);
  const changed = outcomes.flatMap(({ candidate, done, error }): Changed[] => {
    const { target } = candidate;
    if (done === undefined || target === undefined || done.replaced === 0) return [];
    return [{ candidate, done, error, target, after: Buffer.from(done.bytes) }];
  });
  const [first] = outcomes;
  if (first === undefined) {
    throw new GinError("PATH_NOT_FOUND", "no file is meant by files and include", "find_files tells what there is", {
      facts: { path: "" },
    });
  }
  const failed = outcomes.find(({ error }) => error !== undefined);
  if (failed?.error !== undefined && outcomes.every(({ error }) => error !== undefined)) throw failed.error;
  if (changed.length === 0) {
    const matched = outcomes.some(({ done }) => (done?.matches ?? 0) > 0);
    const result = {
      result: [
        matched ? "no changes: every match is its replacement already" : "no matches found",
        ...skippedLines(outcomes),
      ].join("\n"),
      meta: { files: outcomes.map((one) => factsOf(one)) },
    };
    return flagArg(args, "dry_run") ? result : context.unchanged(result);
  }
  if (flagArg(args, "dry_run")) return dry(context, args, outcomes, changed);
  const shown = await showDiffs(
    context,
    changed.map(({ target, after }) => ({ path: target.path, before: target.bytes, after })),
  );
  const more = new Map(
    changed.map(({ target, after }, index) => [target.path, { sha256: sha256Of(after), ...diffFacts(shown[index]) }]),
  );
  const edits = changed.map(({ target, after }) => ({ path: target.path, expect: target.sha256, content: after }));
  return saveEdits(context, "search_replace", args, edits, (outcome) => {
    const merged = new Set(mergedPaths(outcome));
    const files = outcomes.map((one) => {
      const { path } = one.candidate;
      const facts = more.get(path);
      if (facts === undefined) return factsOf(one);
      return {
        ...factsOf(one),
        ...facts,
        sha256: savedSha256(outcome, path) ?? facts.sha256,
        ...(merged.has(path) ? { merged: true } : {}),
      };
    });
    return { result: summary("replaced", outcomes, changed, merged), meta: { files }, checkpoint: checkpointOf(outcome) };
  });
}

async function outcomesOf(args: JsonMap, context: WriteContext): Promise<Outcome[]> {
  const pattern = textArg(args, "pattern");
  const replacement = textArg(args, "replacement");
  encoded(pattern, "args/pattern");
  encoded(replacement, "args/replacement");
  const names = typeof args.files === "string" ? [args.files] : (args.files as readonly string[]);
  const found = await candidates(context, names, textArg(args, "include"), checksumsOf(context, args));
  const open = found.flatMap(({ path, target }) => (target === undefined ? [] : [{ path, bytes: target.bytes }]));
  const total = open.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (total > REPLACED_TOTAL) {
    throw new GinError(
      "RESOURCE_LIMIT",
      `the files have ${total} bytes together; the limit is ${REPLACED_TOTAL}`,
      "take fewer at once",
      {
        facts: { limit: REPLACED_TOTAL, unit: "bytes" },
      },
    );
  }
  const job = {
    pattern,
    replacement,
    caseInsensitive: flagArg(args, "case_insensitive"),
    multiline: flagArg(args, "multiline", true),
    files: open,
  };
  const files = await replaceInThread(job, context.clock, context.signal);
  const byPath = new Map(open.map(({ path }, index) => [path, files[index]]));
  return found.map((candidate) => {
    const file = byPath.get(candidate.path);
    if (file === undefined) return { candidate, done: undefined, error: candidate.error };
    return file.kind === "done"
      ? { candidate, done: file, error: undefined }
      : { candidate, done: undefined, error: revive(file) };
  });
}

async function dry(
  context: WriteContext,
  args: JsonMap,
  outcomes: readonly Outcome[],
  changed: readonly Changed[],
): Promise<ToolResult> {
  const changes = changed.map(({ target, after }) => {
    try {
      return { path: target.path, before: target.current.bytes, after: dryResult(context, target, after, merges(args)) };
    } catch (thrown) {
      throw withMergeCall(thrown, "search_replace", args);
    }
  });
  const shown = await showDiffs(context, changes);
  const more = new Map(changes.map(({ path, after }, index) => [path, { sha256: sha256Of(after), ...diffFacts(shown[index]) }]));
  const files = outcomes.map((one) => ({ ...factsOf(one), ...more.get(one.candidate.path) }));
  const skipped = skippedLines(outcomes);
  return { result: [...shown.map(diffText), ...skipped.map((line) => `${line}\n`)].join(""), meta: { files } };
}

function factsOf({ candidate, done, error }: Outcome): { readonly [key: string]: Json } {
  const { path } = candidate;
  if (error !== undefined) {
    const told = { error: error.message, errorCode: codeOf(error), suggestion: error.suggestion };
    return { path, matches: 0, replaced: 0, unchanged: true, ...told };
  }
  const { matches = 0, replaced = 0, firstLine = 0, lastLine = 0 } = done ?? {};
  return {
    path,
    matches,
    replaced,
    unchanged: replaced === 0,
    matchType: "regex",
    ...(matches > 0 ? { firstLine, lastLine } : {}),
    ...(candidate.target === undefined ? {} : { before: candidate.target.sha256 }),
  };
}

function summary(verb: string, outcomes: readonly Outcome[], changed: readonly Changed[], merged: ReadonlySet<string>): string {
  const total = changed.reduce((sum, { done }) => sum + (done?.replaced ?? 0), 0);
  const lines = changed.map(({ target, done }) => {
    const { replaced = 0, firstLine = 0, lastLine = 0 } = done ?? {};
    const where = firstLine === lastLine ? `line ${firstLine}` : `lines ${firstLine}-${lastLine}`;
    return `${target.path}: ${plural(replaced, "match", "matches")}, ${where}${merged.has(target.path) ? " (merged with a later change)" : ""}`;
  });
  const head = `${verb} ${plural(total, "match", "matches")} in ${plural(changed.length, "file", "files")}`;
  return [head, ...lines, ...skippedLines(outcomes)].join("\n");
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function skippedLines(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ candidate, error }) => (error === undefined ? [] : [`skipped ${candidate.path}: ${error.message}`]));
}
