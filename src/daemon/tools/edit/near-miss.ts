import { plainTypography } from "./fuzzy.ts";
import { type Binary, decoded } from "./text.ts";

/** The place that is most like an old text that is nowhere. */
export interface NearMiss {
  /** From 1. */
  readonly line: number;
  readonly lineCount: number;
  /** What was asked for against what stands there, as lines of a diff; "" where it cannot be shown. */
  readonly diff: string;
}

/** Files and old texts above these are not searched: help must not cost more than the edit. */
const SEARCHED_BYTES = 512 * 1024;
const SHOWN_LINES = 40;
const SHOWN_BYTES = 4 * 1024;
const COMPARED = 400;

/**
 * Finds the line most like the first filled line of `old`, by the pairs of characters the two share. Undefined for an empty file and
 * one too large to look through, or where nothing is alike. Linear in the file.
 */
export function nearMiss(text: Binary, old: Binary): NearMiss | undefined {
  if (text.length > SEARCHED_BYTES || text === "") return undefined;
  const lines = text.split("\n");
  const wanted = old.split("\n");
  const lead = wanted.findIndex((line) => line.trim() !== "");
  if (lead < 0) return undefined;
  const key = pairs(wanted[lead] as string);
  let best = -1;
  let bestScore = 0;
  for (const [index, line] of lines.entries()) {
    const score = likeness(key, line);
    if (score > bestScore) {
      bestScore = score;
      best = index;
    }
  }
  if (best < 0) return undefined;
  const first = Math.max(0, best - lead);
  const there = lines.slice(first, first + wanted.length);
  return { line: best + 1, lineCount: text.endsWith("\n") ? lines.length - 1 : lines.length, diff: shown(wanted, there) };
}

function pairs(line: Binary): Set<string> {
  const plain = plainTypography(line.trim().slice(0, COMPARED)).toLowerCase();
  const found = new Set<string>(plain.length === 1 ? [plain] : []);
  for (let at = 0; at + 1 < plain.length; at += 1) found.add(plain.slice(at, at + 2));
  return found;
}

/** Dice's measure: 1 for the same pairs, 0 for none shared. */
function likeness(key: ReadonlySet<string>, line: Binary): number {
  const other = pairs(line);
  if (other.size === 0 || key.size === 0) return 0;
  let shared = 0;
  for (const pair of other) if (key.has(pair)) shared += 1;
  return (2 * shared) / (key.size + other.size);
}

function shown(wanted: readonly Binary[], there: readonly Binary[]): string {
  const out: string[] = [];
  let bytes = 0;
  const count = Math.min(SHOWN_LINES, Math.max(wanted.length, there.length));
  for (let index = 0; index < count; index += 1) {
    const asked = wanted[index];
    const stands = there[index];
    const lines =
      asked === stands
        ? [` ${asked}`]
        : [...(asked === undefined ? [] : [`-${asked}`]), ...(stands === undefined ? [] : [`+${stands}`])];
    bytes += lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (bytes > SHOWN_BYTES) break;
    out.push(...lines);
  }
  return decoded(out.join("\n")) ?? "";
}
