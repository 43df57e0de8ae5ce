import { GinError } from "../base/index.ts";
import { type Hash, type PathState, sameState } from "../store/index.ts";
import { contentOf, modeFor, NEW_FILE_MODE } from "./content.ts";
import type { Observed } from "./observe.ts";
import { expectation, type Slot, vacated } from "./targets.ts";
import type { EditInput, MergeHunk, MergeSide, PathMerger, SaveInput } from "./types.ts";

/** What a slot is to become. */
export interface Decided {
  readonly slot: Slot;
  readonly seen: Observed;
  readonly after: PathState;
  /** Bytes of `after` (a symlink's target); undefined when absent, or unchanged and not held. */
  readonly bytes: Uint8Array | undefined;
  /** Permission bits `after` must have. */
  readonly mode: number;
  readonly merged: boolean;
}

/** A slot that is not what the caller expected, with what a merge would give. */
export interface Stale {
  readonly slot: Slot;
  readonly seen: Observed;
  readonly merge: "clean" | string;
  readonly mergedSha256: Hash | undefined;
  readonly hunks: readonly MergeHunk[];
}

/** The verdict on a save's paths. */
export type Verdict =
  | { readonly ok: true; readonly decided: Decided[] }
  | { readonly ok: false; readonly stale: Stale[]; readonly asked: "refuse" | "merge" };

/** Everything the verdict depends on. */
export interface JudgeView {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly seen: ReadonlyMap<string, Observed>;
  /** Content of a path at the head, before anything outside is absorbed. */
  readonly recorded: (path: string) => PathState;
  /** Bytes of a content that a path holds or held; undefined for any other. */
  readonly kept: (path: string, sha256: Hash) => Uint8Array | undefined;
  readonly merger: PathMerger;
}

/**
 * Compares every path with what the caller expects, merges where that is asked for, and says what each path becomes.
 * Reads nothing from disk: `seen` holds what was observed. With on_conflict refuse the merges are still tried, so that the
 * refusal can say what merging would give.
 */
export async function judge(view: JudgeView, input: SaveInput): Promise<Verdict> {
  const stale: Stale[] = [];
  const settled = new Map<Slot, MergeSide>();
  for (const slot of view.slots.values()) {
    const seen = seenAt(view, slot.path);
    if (matches(view, slot, seen, input)) continue;
    const found = await mergeSlot(view, slot, seen, input);
    if (found.side !== undefined && input.onConflict === "merge") settled.set(slot, found.side);
    else stale.push(found.stale);
  }
  if (stale.length > 0) return { ok: false, stale, asked: input.onConflict };
  return { ok: true, decided: [...view.slots.values()].map((slot) => decide(view, slot, settled)) };
}

function seenAt(view: JudgeView, path: string): Observed {
  const seen = view.seen.get(path);
  if (seen === undefined) throw new GinError("INTERNAL", `${path} was not looked at`);
  return seen;
}

function matches(view: JudgeView, slot: Slot, seen: Observed, input: SaveInput): boolean {
  const expect = expectation(slot, input);
  if (expect === "absent") return seen.content === null;
  if (expect === "recorded") return sameState(seen.content, view.recorded(slot.path));
  return seen.content?.sha256 === expect;
}

/** What the caller wants at a slot's own path, from the edit alone; `there` supplies what the edit leaves open. */
function wantedBy(edit: EditInput, there: Observed): MergeSide {
  if (edit.delete === true || edit.renameTo !== undefined) return null;
  if (edit.link !== undefined) return { kind: "symlink", bytes: Buffer.from(edit.link), executable: false };
  const executable = edit.executable ?? there.content?.executable ?? false;
  if (edit.content !== undefined) return { kind: "file", bytes: edit.content, executable };
  if (there.content === null) {
    throw new GinError("PATH_NOT_FOUND", `${edit.path} is not there to be made executable`, undefined, {
      facts: { path: edit.path },
    });
  }
  if (there.content.kind === "symlink") {
    throw new GinError("NOT_A_FILE", `${edit.path} is a symlink`, undefined, { facts: { path: edit.path, kind: "symlink" } });
  }
  return { kind: "file", bytes: held(there), executable };
}

function held(seen: Observed): Uint8Array {
  if (seen.bytes !== undefined) return seen.bytes;
  throw new GinError("TOO_LARGE", `${seen.path} is too large to be changed through gin`, undefined, {
    facts: { path: seen.path },
  });
}

function sideOf(seen: Observed): MergeSide {
  return seen.content === null ? null : { kind: seen.content.kind, bytes: held(seen), executable: seen.content.executable };
}

/** Bytes behind an expectation, as the base of a merge; undefined where they are not kept, or never were at the path. */
function baseOf(view: JudgeView, slot: Slot, seen: Observed, input: SaveInput): MergeSide | undefined {
  const expect = expectation(slot, input);
  if (expect === "absent") return null;
  const state = expect === "recorded" ? view.recorded(slot.path) : undefined;
  if (state === null) return null;
  const bytes = view.kept(slot.path, state?.sha256 ?? (expect as Hash));
  if (bytes === undefined) return undefined;
  // The caller names bytes, not a mode: where nobody speaks of it, the mode is what is there.
  return { kind: state?.kind ?? "file", bytes, executable: state?.executable ?? seen.content?.executable ?? false };
}

async function mergeSlot(
  view: JudgeView,
  slot: Slot,
  seen: Observed,
  input: SaveInput,
): Promise<{ side: MergeSide | undefined; stale: Stale }> {
  const base = baseOf(view, slot, seen, input);
  const edit = slot.edit;
  if (edit === undefined) return conflict(slot, seen, "content");
  const theirs = sideOf(seen);
  if (edit.renameTo !== undefined) {
    // A rename moves whatever is there now; only a content of its own has to be merged with it.
    if (theirs === null) return conflict(slot, seen, "delete_modify");
    if (edit.content === undefined) return clean(slot, seen, theirs);
  }
  const ours: MergeSide =
    edit.renameTo !== undefined
      ? { kind: "file", bytes: edit.content as Uint8Array, executable: edit.executable ?? theirs?.executable ?? false }
      : wantedBy(edit, seen);
  const result = await view.merger.mergePath(base, ours, theirs, input.signal);
  if (!result.clean) return conflict(slot, seen, result.conflict, result.hunks);
  return clean(slot, seen, result.merged);
}

function clean(slot: Slot, seen: Observed, side: MergeSide): { side: MergeSide; stale: Stale } {
  const mergedSha256 = side === null ? undefined : stateOf(side)?.sha256;
  return { side, stale: { slot, seen, merge: "clean", mergedSha256, hunks: [] } };
}

function conflict(
  slot: Slot,
  seen: Observed,
  merge: string,
  hunks: readonly MergeHunk[] = [],
): { side: undefined; stale: Stale } {
  return { side: undefined, stale: { slot, seen, merge, mergedSha256: undefined, hunks } };
}

function stateOf(side: MergeSide): PathState {
  return side === null ? null : contentOf(side.bytes, side);
}

function decide(view: JudgeView, slot: Slot, settled: ReadonlyMap<Slot, MergeSide>): Decided {
  const seen = seenAt(view, slot.path);
  const side = finalSide(view, slot, seen, settled);
  const after = stateOf(side);
  const merged = settled.has(slot) && !vacated(slot);
  const from = slot.arrival === undefined ? seen : seenAt(view, slot.arrival.from);
  const before = from.content?.kind === "file" ? from.mode : NEW_FILE_MODE;
  const mode = after?.kind === "file" ? modeFor(before, after.executable) : before;
  return { slot, seen, after, bytes: side?.bytes, mode, merged };
}

function finalSide(view: JudgeView, slot: Slot, seen: Observed, settled: ReadonlyMap<Slot, MergeSide>): MergeSide {
  if (slot.arrival !== undefined) {
    const { from, edit } = slot.arrival;
    const source = view.slots.get(from);
    const moved = source === undefined ? undefined : settled.get(source);
    if (moved !== undefined && moved !== null) return { ...moved, executable: edit.executable ?? moved.executable };
    const there = seenAt(view, from);
    if (there.content === null) {
      throw new GinError("PATH_NOT_FOUND", `${edit.path} is not there to be renamed`, undefined, { facts: { path: edit.path } });
    }
    const executable = edit.executable ?? there.content.executable;
    if (edit.content !== undefined) return { kind: "file", bytes: edit.content, executable };
    return { kind: there.content.kind, bytes: held(there), executable: there.content.kind === "file" && executable };
  }
  if (vacated(slot)) {
    // What is taken away must be kept first, or it could not be given back.
    if (seen.content !== null) held(seen);
    return null;
  }
  const merged = settled.get(slot);
  if (merged !== undefined) return merged;
  return wantedBy(slot.edit as EditInput, seen);
}
