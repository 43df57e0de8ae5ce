import { type Clock, type FailPoints, GinError } from "../base/index.ts";
import { type FenceCheck, type RequestRow, type SaveCommit, sameState } from "../store/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import { type Decided, judge } from "./judge.ts";
import { keptBase } from "./kept-base.ts";
import { CHANGE_BYTES } from "./limits.ts";
import { type Observed, observe, observeOnce } from "./observe.ts";
import { giveUp, type Line, type Planned, type PlanView, planCommit } from "./plan.ts";
import { type ConflictDetail, refuse } from "./refusal.ts";
import { inSlices } from "./slice.ts";
import { Staging } from "./staging.ts";
import { gather, type Slot } from "./targets.ts";
import type { Touched } from "./touched.ts";
import type { LeaseJudge, PathMerger, SavedPath, SaveInput, SaveOutcome, State } from "./types.ts";

/** What preparing a save needs. */
export interface PrepareView extends PlanView {
  readonly root: ConfinedRoot;
  readonly leases: LeaseJudge;
  readonly merger: PathMerger;
  readonly failPoints: FailPoints;
  readonly clock: Clock;
  readonly incarnation: string;
  /** A committed path that is not on disk yet, as callers see it. */
  readonly unapplied: (path: string) => Observed | undefined;
}

/** A save ready to be committed: judged and staged. */
export interface ReadySave {
  readonly paths: Iterable<string>;
  readonly commit: SaveCommit | undefined;
  readonly planned: Planned;
  readonly staging: Staging | undefined;
  readonly outcome: SaveOutcome;
}

/** A save refused; what it saw changed outside is recorded all the same. */
export interface RefusedSave {
  readonly paths: Iterable<string>;
  readonly commit: SaveCommit | undefined;
  readonly planned: Planned;
  readonly error: GinError;
  readonly detail: { readonly id: string; readonly detail: ConflictDetail } | undefined;
}

/** Steps 1 to 4 of the save protocol for one save. "defer": it shares paths with the batch and must wait for the next. */
export async function prepareSave(
  view: PrepareView,
  line: Line,
  touched: Touched,
  input: SaveInput,
): Promise<ReadySave | RefusedSave | "defer"> {
  view.root.check();
  view.failPoints.hit("save.admitted");
  const slots = await gather(view.root, view.clock, input);
  if (touched.overlaps(slots.keys())) return "defer";
  checkTerms(view, line, input);
  const fence = view.leases.judge(view.workspace, input.principal, [...slots.keys()], input.fence, input.leaseRequired);
  const seen = await look(view, slots);
  const verdict = await judge(
    {
      slots,
      seen,
      recorded: (path) => view.store.trees.get(view.startTree, path),
      kept: (path, sha256) => keptBase(view.store, view.workspace, path, sha256),
      merger: view.merger,
    },
    input,
  );
  view.failPoints.hit("save.judged");
  if (!verdict.ok) {
    const planned: Planned = input.dryRun
      ? nothing(line)
      : await planCommit(view, line, seen.values(), undefined, undefined, undefined);
    const id = view.random.id("dt");
    const { error, detail } = refuse(verdict.stale, verdict.asked, view.store.read, view.workspace, planned.absorbed, id);
    return {
      paths: slots.keys(),
      commit: planned.commit,
      planned,
      error,
      detail: detail === undefined ? undefined : { id, detail },
    };
  }
  if (input.dryRun) {
    const outcome = outcomeOf(view, line, line.head, slots, verdict.decided, input);
    return { paths: slots.keys(), commit: undefined, planned: nothing(line), staging: undefined, outcome };
  }
  return stageAndPlan(view, line, input, slots, seen, verdict.decided, fence);
}

function nothing(line: Line): Planned {
  return { commit: undefined, line, absorbed: new Map(), changed: [], own: undefined, fresh: [] };
}

/** Incarnation, epoch and generation, before anything outside is absorbed. */
function checkTerms(view: PrepareView, line: Line, input: SaveInput): void {
  if (input.incarnation !== undefined && input.incarnation !== view.incarnation) {
    throw new GinError("STALE_INCARNATION", "the workspace is another incarnation", undefined, {
      facts: { incarnation: view.incarnation },
    });
  }
  if (input.epoch !== undefined && input.epoch !== view.epoch) {
    throw new GinError("STALE_EPOCH", "another daemon took the workspace over", undefined, {
      facts: { epoch: String(view.epoch) },
    });
  }
  if (input.generation !== undefined && input.generation !== line.generation) {
    throw new GinError(
      "STALE_GENERATION",
      `the workspace is at generation ${line.generation}, not ${input.generation}`,
      undefined,
      {
        facts: { generation: String(line.generation) },
      },
    );
  }
}

/** What is at every path: small files in slices, larger ones in pieces after them. */
async function look(view: PrepareView, slots: ReadonlyMap<string, Slot>): Promise<Map<string, Observed>> {
  const seen = new Map<string, Observed>();
  const later: string[] = [];
  await inSlices(view.root, view.clock, slots.keys(), (path) => {
    const one = view.unapplied(path) ?? observeOnce(view.root, path);
    if (one === undefined || "large" in one) later.push(path);
    else seen.set(path, one);
  });
  for (const path of later) seen.set(path, await observe(view.root, path, CHANGE_BYTES));
  return seen;
}

async function stageAndPlan(
  view: PrepareView,
  line: Line,
  input: SaveInput,
  slots: ReadonlyMap<string, Slot>,
  seen: ReadonlyMap<string, Observed>,
  decided: readonly Decided[],
  fence: FenceCheck | undefined,
): Promise<ReadySave> {
  const { principal, requestId, message, cause, undoes } = input;
  const author = { principal, requestId, message, cause, ...(undoes === undefined ? {} : { undoes }) };
  const planned = await planCommit(view, line, seen.values(), decided, author, fence);
  let staging: Staging | undefined;
  try {
    if (planned.changed.length > 0) staging = await Staging.of(view.root, planned.changed, view.clock);
    view.failPoints.hit("save.staged");
    const outcome = outcomeOf(view, planned.line, planned.line.head, slots, decided, input);
    const request = input.remember?.(outcome);
    return {
      paths: slots.keys(),
      commit: withRequest(view, line, withTemps(planned.commit, staging), request),
      planned,
      staging,
      outcome,
    };
  } catch (thrown) {
    staging?.abort();
    giveUp(view, planned.fresh);
    throw thrown;
  }
}

/** Journals where each content was staged, so that recovery can tell what a killed save displaced from what one only staged. */
function withTemps(commit: SaveCommit | undefined, staging: Staging | undefined): SaveCommit | undefined {
  if (commit === undefined || staging === undefined) return commit;
  const journal = commit.journal.map((step) => {
    const temp = staging.at(step.path)?.temp;
    return temp === undefined ? step : { ...step, temp };
  });
  return { ...commit, journal };
}

function withRequest(
  view: PrepareView,
  line: Line,
  commit: SaveCommit | undefined,
  request: RequestRow | undefined,
): SaveCommit | undefined {
  if (request === undefined) return commit;
  const { workspace, epoch } = view;
  const empty = { workspace, generation: line.generation, epoch, checkpoints: [], objects: [], nodes: [], journal: [] };
  return { ...(commit ?? empty), request };
}

function outcomeOf(
  view: PrepareView,
  line: Line,
  checkpoint: string,
  slots: ReadonlyMap<string, Slot>,
  decided: readonly Decided[],
  input: SaveInput,
): SaveOutcome {
  const state: State = { incarnation: view.incarnation, generation: line.generation, epoch: view.epoch, head: line.head };
  const bySlot = new Map(decided.map((one) => [one.slot, one]));
  const paths: SavedPath[] = [];
  for (const slot of slots.values()) {
    const one = bySlot.get(slot);
    if (one === undefined) continue;
    paths.push({ path: slot.path, content: one.after, merged: one.merged, noChange: sameState(one.after, one.seen.content) });
  }
  return {
    state,
    checkpoint,
    paths,
    noChange: paths.every((one) => one.noChange),
    dryRun: input.dryRun,
    applyPending: false,
    rescued: [],
  };
}
