import { getMeta, setMeta } from "../meta.ts";
import type { Work } from "../work.ts";
import { type Decision, decide } from "./decide.ts";
import { mark } from "./mark.ts";
import { measure, usedBytes } from "./measure.ts";
import { Needs } from "./needs.ts";
import { type Removed, removeCheckpoints, removeContents, removeSpans, vacuum } from "./remove.ts";
import { rootsOf } from "./roots.ts";
import { compactSegments } from "./segments.ts";
import { Slice } from "./slice.ts";
import { type Lineage, readTimeline, type Timeline } from "./timeline.ts";
import type { GarbageOptions, GarbageReport, GarbageStep, Thinning } from "./types.ts";

const LOOK: GarbageStep = { phase: "look", durable: false };
const REMOVE: GarbageStep = { phase: "remove", durable: false };

/** A run: its needs, so that commits can add to them, and its slices. */
export interface Run {
  readonly needs: Needs;
  readonly slices: Generator<GarbageStep, GarbageReport>;
}

/** Begins a run. Roots are taken now, in one transaction with the newest rows: what is written later adds to the needs by itself. */
export function beginRun(work: Work, options: GarbageOptions): Run {
  const needs = new Needs(work);
  const roots = rootsOf(work);
  const youngFrom = graceFrom(work, options, needs.topObject);
  return { needs, slices: slices(work, options, needs, roots, youngFrom) };
}

function* slices(
  work: Work,
  options: GarbageOptions,
  needs: Needs,
  roots: ReturnType<typeof rootsOf>,
  youngFrom: number,
): Generator<GarbageStep, GarbageReport> {
  const slice = new Slice(options.slicePieces);
  const timeline = yield* told(readTimeline(work, slice, options), LOOK);
  yield* told(mark(work, slice, needs, roots, timeline), LOOK);
  const measured = yield* told(measure(work, slice, needs, timeline, youngFrom), LOOK);
  const before = usedBytes(work);
  const decision = decide(measured, timeline, before, options);
  if (options.dryRun) return wouldBe(measured, decision, timeline, before);
  const thinning = timeline.lineages.map((lineage) => thinningOf(lineage, decision)).filter(({ from, to }) => to > from);
  yield { phase: "decided", durable: false, thinning };
  work.hit("gc.decided");
  for (const { workspace, to } of thinning) {
    work.statement("UPDATE workspace SET kept_from = max(kept_from, ?) WHERE rowid = ?").run(to, workspace);
  }
  work.hit("gc.announced");
  yield { phase: "announced", durable: false };
  const removed: Removed = { unreachable: 0, thinned: 0, checkpoints: 0 };
  yield* told(removeContents(work, slice, needs, decision, youngFrom, removed), REMOVE);
  for (const lineage of timeline.lineages) {
    const rowsBefore = Math.min(lineage.head, Math.max(lineage.first, generationAfter(lineage, decision.rows)));
    yield* told(removeCheckpoints(work, slice, lineage, rowsBefore, removed), REMOVE);
    const keptFrom = thinning.find(({ workspace }) => workspace === lineage.workspace)?.to ?? lineage.keptFrom;
    yield* told(removeSpans(work, slice, lineage.workspace, keptFrom, rowsBefore > 0), REMOVE);
  }
  for (const step of compactSegments(work, slice, measured.side, needs.topObject)) {
    yield { phase: step === "wait" ? "wait" : "remove", durable: step === "durable" };
  }
  yield* told(vacuum(work), REMOVE);
  const after = usedBytes(work);
  setMeta(work.db, "neededBytes", Math.round(decision.needed));
  setMeta(work.db, "collectedMs", options.nowMs);
  work.hit("gc.end");
  return {
    beforeBytes: before,
    afterBytes: after,
    historyBeforeBytes: Math.round(decision.history),
    historyAfterBytes: Math.max(0, Math.round(after - decision.needed)),
    unreachableObjects: removed.unreachable,
    thinnedObjects: removed.thinned,
    removedCheckpoints: removed.checkpoints,
  };
}

/** Each slice's end, said in these words. */
function* told<T>(slices: Generator<undefined, T>, step: GarbageStep): Generator<GarbageStep, T> {
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
    yield step;
  }
}

/** The first generation of a workspace behind a place in the order of all; 0 when none of its own is before that place. */
function generationAfter(lineage: Lineage, place: number): number {
  const { checkpoints, places } = lineage;
  if ((places[0] ?? place) >= place) return 0;
  const at = checkpoints.findIndex((_, index) => (places[index] ?? 0) >= place);
  return at < 0 ? lineage.head : (checkpoints[at]?.generation ?? lineage.head);
}

function thinningOf(lineage: Lineage, decision: Decision): Thinning {
  const to = Math.max(lineage.keptFrom, lineage.first, generationAfter(lineage, decision.thinned));
  return { workspace: lineage.workspace, from: lineage.keptFrom, to: Math.min(to, Math.max(lineage.head, lineage.keptFrom)) };
}

function wouldBe(
  { contents }: { readonly contents: Float64Array },
  decision: Decision,
  timeline: Timeline,
  before: number,
): GarbageReport {
  const places = timeline.order.length;
  let thinned = 0;
  for (let place = 1; place <= decision.thinned; place++) thinned += contents[place] ?? 0;
  const removedCheckpoints = timeline.lineages.reduce((sum, lineage) => {
    const until = Math.min(lineage.head, Math.max(lineage.first, generationAfter(lineage, decision.rows)));
    return sum + lineage.checkpoints.filter(({ generation }) => generation < until).length;
  }, 0);
  return {
    beforeBytes: before,
    afterBytes: Math.round(before - (decision.history - decision.left)),
    historyBeforeBytes: Math.round(decision.history),
    historyAfterBytes: Math.round(decision.left),
    unreachableObjects: (contents[0] ?? 0) + (decision.young ? (contents[places + 1] ?? 0) : 0),
    thinnedObjects: thinned,
    removedCheckpoints,
  };
}

/**
 * First row of contents too young to go though nothing names them: one that a caller was just given must be there for the merge of
 * what it makes of it. Rows carry no time; the newest row is noted now and then instead.
 */
function graceFrom(work: Work, { nowMs, graceMs, dryRun }: GarbageOptions, top: number): number {
  if (graceMs === 0) return Number.MAX_SAFE_INTEGER;
  const noted = getMeta(work.db, "graceMs");
  const old = getMeta(work.db, "graceOldSeq") ?? 0;
  // A clock that was put back begins anew.
  if (noted !== undefined && nowMs - noted < graceMs && nowMs >= noted) return old + 1;
  const past = noted !== undefined && nowMs >= noted ? (getMeta(work.db, "graceSeq") ?? 0) : old;
  if (!dryRun) {
    setMeta(work.db, "graceOldSeq", past);
    setMeta(work.db, "graceSeq", top);
    setMeta(work.db, "graceMs", nowMs);
  }
  return past + 1;
}
