import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject } from "../../src/clients/sdk/index.ts";
import { tempDir } from "../helpers/temp.ts";
import type { Case } from "./corpus.ts";
import type { Came } from "./run-case.ts";
import type { Transport } from "./transports.ts";

/** The reference's program, where somebody has it. */
export const referenceProgram: string | undefined = process.env.GIN_REFERENCE;

/** The reference: one process a call, its settings in a directory of their own. */
export function overReference(program: string): Transport {
  const directory = tempDir("reference");
  const [root, config] = [join(directory, "root"), join(directory, "config")] as const;
  mkdirSync(root);
  mkdirSync(config);
  return {
    root,
    async call(step) {
      const { stdout, error } = spawnSync(program, [], {
        cwd: root,
        env: { PATH: process.env.PATH, HOME: config, JINN_CONFIG_DIR: config },
        input: JSON.stringify(step),
        encoding: "utf8",
        maxBuffer: 2 ** 28,
      });
      if (error !== undefined) throw error;
      return JSON.parse(stdout) as JsonObject;
    },
  };
}

/** What is compared: words of refusals, `meta` and continuations are each one's own, as docs/differences.md says for all tools. */
const FIELDS = ["ok", "error_code", "result", "content", "after"] as const;

/** Tools whose results are sentences: each has its own words. */
const SENTENCES: readonly string[] = ["write_file", "edit_file", "multi_edit", "apply_patch", "undo", "search_replace"];

/** Sentences and what was added, in results that are JSON. */
const WORDS: readonly string[] = ["hint", "summary", "reason", "next_call", "next_calls", "truncation", "modified"];

/** Fields in which the reference answers a case otherwise than the corpus says. Texts count only where both did the work. */
export function differencesOf(one: Case, came: Came): readonly string[] {
  const ours: JsonObject = { ...one.expect, after: (one.after ?? null) as JsonObject | null };
  const theirs: JsonObject = { ...came.envelope, after: (came.after ?? null) as JsonObject | null };
  const both = ours.ok === true && theirs.ok === true;
  return FIELDS.filter((field) => {
    if (field === "error_code" && ours.ok !== theirs.ok) return false;
    if ((field === "result" || field === "content") && !both) return false;
    if (field === "result")
      return !SENTENCES.includes(one.tool) && !sameText(String(ours.result ?? ""), String(theirs.result ?? ""));
    return JSON.stringify(ours[field] ?? "") !== JSON.stringify(theirs[field] ?? "");
  });
}

/** JSON is compared by the fields the reference has: what gin says besides breaks nobody. */
function sameText(ours: string, theirs: string): boolean {
  if (ours === theirs) return true;
  const [one, other] = [jsonObject(ours), jsonObject(theirs)];
  if (one === undefined || other === undefined) return false;
  return Object.entries(other).every(
    ([name, value]) => WORDS.includes(name) || JSON.stringify(one[name]) === JSON.stringify(value),
  );
}

function jsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // A sentence.
    return undefined;
  }
}
