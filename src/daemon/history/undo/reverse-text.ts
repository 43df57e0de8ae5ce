import type { Pace } from "../../base/index.ts";
import type { Edit } from "../diff.ts";
import { isText, type Lines, sliceLines, splitLines } from "../lines.ts";
import { MAX_TEXT_BYTES, MAX_TEXT_LINES } from "../merge-path.ts";
import type { Differ } from "../types.ts";
import type { Region } from "./regions.ts";
import { carry, reverse } from "./reverse.ts";

/** What a text becomes without the undone work, or what stands in the way. */
export type TextReversal =
  | {
      readonly clean: true;
      readonly bytes: Uint8Array;
      /** The later texts without it, in order, where every step could be followed; else none. */
      readonly later: readonly Uint8Array[];
    }
  | { readonly clean: false; readonly conflict: "binary" | "too_large" }
  | {
      readonly clean: false;
      readonly conflict: "content";
      readonly regions: readonly Region[];
      readonly shown: readonly Shown[];
    };

/** A region's lines as text, for people. */
export interface Shown {
  readonly undone: string;
  readonly current: string;
  readonly wanted: string;
}

/**
 * Takes back what made `made` of `before`, from the last of `later` (what `made` became since, oldest first, at least one text).
 * First step by step through `later`: each is one piece of work, so its diff is seldom in doubt where lines are alike. Where a step
 * touches a hunk, the first and the last text alone decide: what came and went in between does not count.
 */
export async function reverseText(
  differ: Differ,
  before: Uint8Array,
  made: Uint8Array,
  later: readonly Uint8Array[],
  how: { readonly signal?: AbortSignal | undefined; readonly pace?: Pace } = {},
): Promise<TextReversal> {
  const { signal } = how;
  const now = later.at(-1) ?? made;
  const ends = [before, made, now];
  if (!ends.every(isText)) return { clean: false, conflict: "binary" };
  if (ends.some((text) => text.length > MAX_TEXT_BYTES)) return { clean: false, conflict: "too_large" };
  const texts = { before: splitLines(before), made: splitLines(made), now: splitLines(now) };
  if (Object.values(texts).some((lines) => lines.count > MAX_TEXT_LINES)) return { clean: false, conflict: "too_large" };
  const undo = await differ.edits(made, before, signal);
  if (later.length > 1) {
    const followed = await follow(differ, texts.before, made, later, undo, how);
    if (followed !== undefined) return followed;
  }
  const found = reverse(texts.before, texts.now, undo, await differ.edits(made, now, signal));
  if (found.clean) return { clean: true, bytes: found.bytes, later: [] };
  return { clean: false, conflict: "content", regions: found.regions, shown: found.regions.map((region) => show(texts, region)) };
}

async function follow(
  differ: Differ,
  before: Lines,
  made: Uint8Array,
  later: readonly Uint8Array[],
  undo: readonly Edit[],
  { signal, pace }: { readonly signal?: AbortSignal | undefined; readonly pace?: Pace },
): Promise<TextReversal | undefined> {
  const without: Uint8Array[] = [];
  let hunks = undo;
  let at = made;
  for (const next of later) {
    await pace?.next();
    const carried = carry(hunks, await differ.edits(at, next, signal));
    if (carried === undefined) return undefined;
    const reversed = reverse(before, splitLines(next), carried, []);
    if (!reversed.clean) return undefined;
    without.push(reversed.bytes);
    hunks = carried;
    at = next;
  }
  const bytes = without.pop();
  return bytes === undefined ? undefined : { clean: true, bytes, later: without };
}

function show(texts: { readonly before: Lines; readonly made: Lines; readonly now: Lines }, region: Region): Shown {
  return {
    undone: text(sliceLines(texts.made, region.madeStart, region.madeEnd)),
    current: text(sliceLines(texts.now, region.nowStart, region.nowEnd)),
    wanted: text(sliceLines(texts.before, region.beforeStart, region.beforeEnd)),
  };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
