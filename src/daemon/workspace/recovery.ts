import { errnoOf, type FailPoints, GinError } from "../base/index.ts";
import { type Hash, type OpenSave, type PathState, sameState } from "../store/index.ts";
import { type Applied, applySteps, type Lingering, type Rescued, type Step } from "./apply.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { syncPaths } from "./durable.ts";
import { CHANGE_BYTES } from "./limits.ts";
import { type Observed, observeFile } from "./observe.ts";
import type { Line } from "./plan.ts";
import { NOBODY, recordOutside, recordRescued } from "./record.ts";
import { stageState } from "./staging.ts";
import { inspectTemps } from "./strays.ts";
import { isTorn } from "./torn.ts";

/** Committed paths recovery could not put in place: the actor goes on trying. */
export interface Leftover {
  readonly save: string;
  readonly failed: Applied["failed"];
}

/** What became of a workspace's open saves. */
export interface Recovered {
  readonly line: Line;
  readonly leftover: readonly Leftover[];
  /** Saves applied in this boot by a daemon that ended before they were synced: their files are right, and synced in the background. */
  readonly unsynced: readonly { readonly id: string; readonly paths: readonly string[] }[];
  /** Displaced files that somebody may still be writing to; the store has a row of each. */
  readonly lingering: readonly Lingering[];
  /** Counts for the log: paths found in place, rewritten, and edited by others (theirs kept). */
  readonly counts: { readonly inPlace: number; readonly rewritten: number; readonly external: number };
}

/** All that open saves say of one path, oldest first. */
interface Chain {
  readonly path: string;
  /** Save that wants the last state. */
  save: string;
  readonly known: PathState[];
  wanted: PathState;
  mode: number;
  /** A sync of it failed: what the page cache shows may not be on disk, and only writing it anew puts it there. */
  rewrite: boolean;
}

/**
 * Brings a directory to what its committed saves say, before anybody is served. Per path: what is wanted is there → nothing;
 * an earlier state of the same saves, or a file torn by a power cut → written again; anything else is somebody's edit → it
 * stays, is recorded, and ours is in history. Running it again, also after it was killed, changes nothing more. `tidy`: the term
 * before left no temp (clean-end.ts).
 */
export async function recover(deps: WorkspaceDeps, tidy: boolean): Promise<Recovered> {
  const { row, store, root, boot, failPoints } = deps;
  failPoints.hit("recover.begin");
  const saves = store.read.openSaves(row.rowid);
  const rebooted = saves.some((save) => save.boot !== boot && save.boot !== "");
  // Recorded before the temps go, which hold the only copy: this recovery may be killed as well.
  const strays = inspectTemps(deps, saves);
  const head = await record(deps, { generation: row.generation, head: row.head, tree: row.tree }, [], strays.found);
  await note(deps, strays.open, strays.gone);
  // With an open save or a kept file the last term has not ended in order, whatever it said.
  if (!tidy || saves.length > 0 || strays.open.length + strays.gone.length > 0)
    root.sweep(undefined, new Set(strays.open.map((one) => one.temp)));
  failPoints.hit("recover.swept");
  // Applied in this boot means the page cache has it: whatever differs now was changed later, by somebody else.
  const inCache = (save: OpenSave): boolean => save.state === "applied" && save.boot === boot;
  const unfinished = saves.filter((save) => !inCache(save));
  const steps: { step: Step; save: string }[] = [];
  const outside: Observed[] = [];
  const counts = { inPlace: 0, rewritten: 0, external: 0 };
  for (const chain of chainsOf(unfinished)) {
    const seen = await observeFile(root, chain.path, CHANGE_BYTES);
    failPoints.hit("recover.judged");
    // Something that is not a file is somebody else's doing, and nothing to record.
    if (seen === undefined) counts.external++;
    else if (sameState(seen.content, chain.wanted) && !(chain.rewrite && chain.wanted !== null)) counts.inPlace++;
    else if (
      [...chain.known, chain.wanted].some((state) => sameState(state, seen.content)) ||
      (rebooted && torn(deps, chain, seen))
    ) {
      counts.rewritten++;
      steps.push({ save: chain.save, step: stage(deps, chain, seen, failPoints) });
    } else {
      counts.external++;
      outside.push(seen);
    }
  }
  // A step without its content staged must not run: taking the old file away is all it could do.
  const ready = steps.map((one) => one.step).filter((step) => step.after === null || step.staged !== undefined);
  const applied = await applySteps(root, ready, deps.clock, failPoints, deps.clock.wallMs());
  failPoints.hit("recover.applied");
  const line = await record(deps, head, outside, applied.rescued);
  // What it displaced is recorded by now: only where somebody may write on is there anything to wait for.
  const open = applied.lingering.filter((one) => one.writers !== "none");
  await note(deps, open, []);
  for (const one of applied.lingering) if (!open.includes(one)) root.discard(one.temp);
  failPoints.hit("recover.external");
  const leftover = leftovers(steps, applied);
  const kept = new Set(leftover.map((one) => one.save));
  await settleSaves(
    deps,
    unfinished.filter((save) => !kept.has(save.id)),
  );
  failPoints.hit("recover.end");
  const unsynced = saves.filter(inCache).map((save) => ({ id: save.id, paths: save.steps.map((step) => step.path) }));
  const lingering = [...strays.open, ...open].map((one) => ({ ...one, noted: true }));
  return { line, leftover, unsynced, lingering, counts };
}

function chainsOf(saves: readonly OpenSave[]): Chain[] {
  const chains = new Map<string, Chain>();
  for (const save of saves) {
    for (const step of save.steps) {
      const chain = chains.get(step.path);
      if (chain === undefined) {
        chains.set(step.path, {
          path: step.path,
          save: save.id,
          known: [step.before],
          wanted: step.after,
          mode: step.mode,
          rewrite: save.boot === "",
        });
        continue;
      }
      chain.known.push(chain.wanted, step.before);
      chain.wanted = step.after;
      chain.mode = step.mode;
      chain.save = save.id;
      chain.rewrite ||= save.boot === "";
    }
  }
  return [...chains.values()];
}

function torn(deps: WorkspaceDeps, chain: Chain, seen: Observed): boolean {
  if (seen.content?.kind !== "file" || seen.bytes === undefined) return false;
  for (const state of [chain.wanted, ...chain.known]) {
    if (state?.kind !== "file") continue;
    const whole = deps.store.read.object(state.sha256);
    if (whole !== undefined && isTorn(seen.bytes, whole)) return true;
  }
  return false;
}

function stage(deps: WorkspaceDeps, chain: Chain, seen: Observed, failPoints: FailPoints): Step {
  const base = { path: chain.path, before: seen.content, after: chain.wanted, mode: chain.mode, ownInode: undefined };
  if (chain.wanted === null) return { ...base, staged: undefined };
  const bytes = content(deps, chain.path, chain.wanted.sha256);
  try {
    deps.root.makeParents(chain.path);
    const staged = stageState(deps.root, chain.path, chain.wanted, bytes, chain.mode);
    failPoints.hit("recover.staged");
    return { ...base, staged };
  } catch (thrown) {
    // No room to stage it (a full or read-only disk): the actor goes on trying, reads are served from the store.
    deps.log.warn({ path: chain.path, errno: errnoOf(thrown) }, "a committed path could not be staged in recovery");
    return { ...base, staged: undefined };
  }
}

function content(deps: WorkspaceDeps, path: string, sha256: Hash): Uint8Array {
  const bytes = deps.store.read.object(sha256);
  if (bytes === undefined) throw new GinError("STORE_CORRUPT", `the committed content of ${path} is not in the store`);
  return bytes;
}

/** Rows for the displaced files that are kept, before the journal that names them may go. */
async function note(deps: WorkspaceDeps, open: readonly Lingering[], gone: readonly string[]): Promise<void> {
  if (open.length === 0 && gone.length === 0) return;
  const kept = open.map(({ temp, path }) => ({ temp, path }));
  await deps.store.write("linger", { workspace: deps.row.rowid, kept, gone });
}

/** Records outside edits (which stay on disk) and displaced ones (which do not), in that order. */
async function record(deps: WorkspaceDeps, from: Line, outside: readonly Observed[], rescued: readonly Rescued[]): Promise<Line> {
  let line = await recordOutside(deps, from, outside);
  await recordRescued(deps, line, NOBODY, rescued, (next) => (line = next));
  return line;
}

function leftovers(steps: readonly { step: Step; save: string }[], applied: Applied): Leftover[] {
  const bySave = new Map<string, { step: Step; cause: unknown }[]>();
  const failed = new Map(applied.failed.map((one) => [one.step.path, one.cause]));
  for (const { step, save } of steps) {
    const unstaged = step.after !== null && step.staged === undefined;
    if (!failed.has(step.path) && !unstaged) continue;
    bySave.set(save, [...(bySave.get(save) ?? []), { step, cause: failed.get(step.path) }]);
  }
  return [...bySave].map(([save, list]) => ({ save, failed: list }));
}

/** Syncs everything the saves speak of and lets go of their journal. */
async function settleSaves(deps: WorkspaceDeps, saves: readonly OpenSave[]): Promise<void> {
  if (saves.length === 0) return;
  const { root, store, failPoints } = deps;
  await syncPaths(
    root,
    saves.flatMap((save) => save.steps.map((step) => step.path)),
    failPoints,
  );
  failPoints.hit("recover.synced");
  const ids = saves.map((save) => save.id);
  await store.write("applied", { saves: ids });
  failPoints.hit("recover.mark");
  await store.write("durable", { saves: ids });
}
