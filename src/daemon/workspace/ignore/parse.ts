import { compile, type Glob, matches } from "./wild.ts";

/** One line of a .gitignore. */
interface Rule {
  /** Takes back what a weaker rule ignores. */
  readonly negated: boolean;
  readonly directoriesOnly: boolean;
  /** Whether the pattern is held against the last component alone; otherwise against the path below its file. */
  readonly byName: boolean;
  /** The text itself where nothing in it is special: a comparison is enough. */
  readonly literal?: string;
  /** What a name must end in, for `*TEXT`. */
  readonly suffix?: string;
  readonly glob?: Glob;
}

/** The rules of one file. */
export interface RuleList {
  /**
   * What the last rule that matches says of a path below the file's directory; undefined when none does. `path` and `name`, its last
   * component, are strings of bytes; directories above are not looked at.
   */
  judge(path: string, name: string, isDirectory: boolean): boolean | undefined;
}

const NO_RULES: RuleList = { judge: () => undefined };

/** UTF-8 bytes as a string of one character a byte, as patterns are matched. ASCII is itself. */
export function toBytes(text: string, fold: boolean): string {
  const bytes = /[^\0-\x7f]/.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
  return fold ? folded(bytes) : bytes;
}

const folded = (bytes: string): string => bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Reads rules as Git does. `fold`: compare ASCII letters without regard to case; then paths must come folded by toBytes. */
export function parseRules(text: string, fold: boolean): RuleList {
  const rules: Rule[] = [];
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    const rule = line.startsWith("#") ? undefined : parseRule(trimEnd(line.endsWith("\r") ? line.slice(0, -1) : line), fold);
    if (rule !== undefined) rules.push(rule);
  }
  if (rules.length === 0) return NO_RULES;
  rules.reverse();
  return {
    judge(path, name, isDirectory) {
      for (const rule of rules) {
        if (rule.directoriesOnly && !isDirectory) continue;
        if (holds(rule, rule.byName ? name : path)) return !rule.negated;
      }
      return undefined;
    },
  };
}

function holds(rule: Rule, text: string): boolean {
  if (rule.literal !== undefined) return rule.literal === text;
  if (rule.suffix !== undefined) return text.endsWith(rule.suffix);
  return rule.glob !== undefined && matches(rule.glob, text);
}

/** Without the spaces at its end, but for an escaped one. */
function trimEnd(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line[at] === " ") continue;
    end = at + 1;
  }
  return line.slice(0, Math.max(end, 0));
}

function parseRule(line: string, fold: boolean): Rule | undefined {
  const negated = line.startsWith("!");
  let pattern = toBytes(negated ? line.slice(1) : line, false);
  const directoriesOnly = pattern.endsWith("/");
  if (directoriesOnly) pattern = pattern.slice(0, -1);
  const byName = !pattern.includes("/");
  if (pattern.startsWith("/")) pattern = pattern.slice(1);
  if (pattern === "") return undefined;
  const common = { negated, directoriesOnly, byName };
  if (!/[*?[\\]/.test(pattern)) return { ...common, literal: fold ? folded(pattern) : pattern };
  if (byName && /^\*[^*?[\\]*$/.test(pattern)) return { ...common, suffix: fold ? folded(pattern.slice(1)) : pattern.slice(1) };
  const glob = compile(pattern, fold);
  return glob === undefined ? undefined : { ...common, glob };
}
