import type { AnyTool, ArgSchema, Intent } from "../types.ts";
import { singular, wordsOf } from "./words.ts";

/** What speaks for a tool. */
export interface Score {
  readonly tool: AnyTool;
  readonly points: number;
  /** What the points are for, for the reader. */
  readonly reason: string;
}

/** Points of the tool's own name within the need. */
const NAMED = 10;
/** Points of each word that the need shares with a part of the entry. */
const SHARED = { name: 5, description: 2, arguments: 3, values: 4, features: 3 } as const;
/** Points for one file against several. */
const COUNTED = 6;

/** The words of an entry by part. An entry never changes, so they are found once. */
type Parts = { readonly [P in keyof typeof SHARED]: ReadonlySet<string> };
const known = new WeakMap<AnyTool, Parts>();

function partsOf(tool: AnyTool): Parts {
  const found = known.get(tool);
  if (found !== undefined) return found;
  const names: string[] = [];
  const values: string[] = [];
  collect(tool.schema, names, values);
  const parts: Parts = {
    name: wordsOf(tool.name),
    description: wordsOf(tool.description),
    arguments: wordsOf(names.join(" ")),
    values: wordsOf(values.join(" ")),
    features: wordsOf(tool.features.join(" ")),
  };
  known.set(tool, parts);
  return parts;
}

function collect(schema: ArgSchema, names: string[], values: string[]): void {
  for (const [name, argument] of Object.entries(schema.properties ?? {})) {
    names.push(name);
    collect(argument, names, values);
  }
  values.push(...(schema.enum ?? []));
  if (schema.items !== undefined) collect(schema.items, names, values);
  for (const form of schema.oneOf ?? []) collect(form, names, values);
}

/** Scores one tool for a need: the same need always gives the same. */
export function scoreOf(tool: AnyTool, need: string): Score {
  const lower = need.toLowerCase();
  const files = filesIn(lower);
  // Who names a file speaks of a file.
  const words = files > 0 ? new Set([...wordsOf(need), "file"]) : wordsOf(need);
  const why: string[] = [];
  let points = 0;
  const give = (some: number, what: string): void => {
    points += some;
    if (some > 0) why.push(what);
  };
  const named = lower.includes(tool.name) || lower.includes(tool.name.replaceAll("_", " "));
  give(named ? NAMED : 0, "named");
  const parts = partsOf(tool);
  const shared = new Set<string>();
  let common = 0;
  for (const part of Object.keys(SHARED) as (keyof Parts)[]) {
    for (const word of words) {
      if (!parts[part].has(word)) continue;
      common += SHARED[part];
      shared.add(word);
    }
  }
  give(common, `shares ${[...shared].join(", ")}`);
  const intent = Math.max(0, ...(tool.intents ?? []).filter((rule) => holds(rule, words)).map((rule) => rule.points));
  give(intent, "fits what it is for");
  if (intent > 0) give(counted(tool.name, lower, files), tool.name === "multi_read" ? "several files" : "one file");
  return { tool, points, reason: why.join("; ") };
}

function holds(rule: Intent, words: ReadonlySet<string>): boolean {
  const some = (list: readonly string[]): boolean => list.some((word) => words.has(singular(word.toLowerCase())));
  return some(rule.any) && (rule.also ?? []).every(some);
}

/** How many files a need names: words with an extension that are no part of a URL. */
function filesIn(need: string): number {
  return need.replaceAll(/\w+:\/\/\S+/g, " ").match(/[\w-]+\.[a-z]\w{0,4}\b/g)?.length ?? 0;
}

/** Reading one file and reading several are two tools: what the need says of the number decides. */
function counted(name: string, need: string, named: number): number {
  if (name !== "read_file" && name !== "multi_read") return 0;
  const many = named > 1 || /\b(files|several|multiple|many|two|three|four|five|both|all)\b/.test(need);
  if (name === "multi_read") return many ? COUNTED : 0;
  return !many && (named === 1 || /\b(file|one|single|it)\b/.test(need)) ? COUNTED : 0;
}
