import { countLines, isText, sameBytes } from "./lines.ts";
import type { Merge3 } from "./merge3.ts";
import type { ConflictKind, MergeResult, Side } from "./types.ts";

/** Most bytes of one side that are merged line by line; more is a too_large conflict unless one side is unchanged. */
export const MAX_TEXT_BYTES = 8 * 1024 * 1024;
/** The same for lines: with it the time limit, which depends on the machine, hardly ever decides. */
export const MAX_TEXT_LINES = 1_000_000;

type Present = NonNullable<Side>;

/** Merges three texts; undefined when it costs too much. Runs here or in a worker. */
export type TextMerge = (base: Uint8Array, ours: Uint8Array, theirs: Uint8Array) => Promise<Merge3 | undefined>;

/**
 * The rules of a path: equal sides are clean; a side that left the path as it was yields to the other; else content and
 * mode are merged each on its own, and removal against change, unlike kinds, and symlinks to two targets conflict.
 * `base` is undefined where its bytes are not kept.
 */
export async function mergeSides(base: Side | undefined, ours: Side, theirs: Side, mergeText: TextMerge): Promise<MergeResult> {
  if (sameSide(ours, theirs)) return { clean: true, merged: ours };
  if (base === undefined) return conflict("base_unavailable");
  if (sameSide(base, ours)) return { clean: true, merged: theirs };
  if (sameSide(base, theirs)) return { clean: true, merged: ours };
  if (ours === null || theirs === null) return conflict("delete_modify");
  if (ours.kind !== theirs.kind) return conflict("kind");
  // A base of another kind holds no earlier version of what both sides made: both added it.
  return mergePresent(base !== null && base.kind === ours.kind ? base : null, ours, theirs, mergeText);
}

async function mergePresent(base: Side, ours: Present, theirs: Present, mergeText: TextMerge): Promise<MergeResult> {
  const content = await mergeContent(base, ours, theirs, mergeText);
  if (!content.clean) return content;
  const executable = ours.executable === base?.executable ? theirs.executable : ours.executable;
  // Without a mode to start from, two modes cannot be told apart into the changed and the kept one.
  if (base === null && ours.executable !== theirs.executable) return conflict("mode");
  return { clean: true, merged: { kind: ours.kind, bytes: content.bytes, executable } };
}

type Content = { readonly clean: true; readonly bytes: Uint8Array } | Extract<MergeResult, { clean: false }>;

async function mergeContent(base: Side, ours: Present, theirs: Present, mergeText: TextMerge): Promise<Content> {
  if (sameBytes(ours.bytes, theirs.bytes)) return { clean: true, bytes: ours.bytes };
  if (base !== null && sameBytes(base.bytes, ours.bytes)) return { clean: true, bytes: theirs.bytes };
  if (base !== null && sameBytes(base.bytes, theirs.bytes)) return { clean: true, bytes: ours.bytes };
  // A target is one value, whatever bytes it is made of: never merged by lines.
  if (ours.kind === "symlink") return conflict("content");
  const start = base?.bytes ?? new Uint8Array(0);
  const three = [start, ours.bytes, theirs.bytes] as const;
  if (!three.every(isText)) return conflict("binary");
  if (three.some((bytes) => bytes.length > MAX_TEXT_BYTES || countLines(bytes) > MAX_TEXT_LINES)) return conflict("too_large");
  const merged = await mergeText(...three);
  if (merged === undefined) return conflict("too_large");
  return merged.clean ? merged : { clean: false, conflict: "content", hunks: merged.hunks };
}

function conflict(kind: ConflictKind): { readonly clean: false; readonly conflict: ConflictKind; readonly hunks: readonly [] } {
  return { clean: false, conflict: kind, hunks: [] };
}

function sameSide(a: Side, b: Side): boolean {
  if (a === null || b === null) return a === b;
  return a.kind === b.kind && a.executable === b.executable && sameBytes(a.bytes, b.bytes);
}
