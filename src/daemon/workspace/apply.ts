import { type Clock, type FailPoints, GinError } from "../base/index.ts";
import type { Hash, PathState } from "../store/index.ts";
import { contentOf } from "./content.ts";
import type { ConfinedRoot, Displaced, Staged, Writers } from "./files/index.ts";
import { CHANGE_BYTES } from "./limits.ts";
import { inSlices } from "./slice.ts";

/** One path to bring to its committed state. */
export interface Step {
  readonly path: string;
  readonly before: PathState;
  readonly after: PathState;
  readonly mode: number;
  /** The content waiting beside the target; undefined for a removal. */
  readonly staged: Staged | undefined;
  /** Inode gin itself put at the path last: nobody else can be writing a file that is still that one with its content. */
  readonly ownInode: bigint | undefined;
}

/** Bytes that stood at a path when it was replaced and were not the ones verified: somebody else's edit, kept. */
export interface Rescued {
  readonly path: string;
  readonly content: NonNullable<PathState>;
  readonly bytes: Uint8Array;
}

/** A displaced file that somebody may still be writing to: kept until nobody can. */
export interface Lingering {
  readonly path: string;
  readonly temp: string;
  /** Of what was last seen in it; undefined when it could not be read. Whether that is recorded the store says. */
  readonly seen: Hash | undefined;
  /** Who had it open then. */
  readonly writers: Writers;
  /** Whether the store has a row of it. */
  readonly noted?: boolean;
}

/** What applying came to. */
export interface Applied {
  readonly rescued: Rescued[];
  readonly lingering: Lingering[];
  /** Steps the file system refused; they are tried again. */
  readonly failed: { readonly step: Step; readonly cause: unknown }[];
}

/** A file written this recently may have its writer still at it, in milliseconds. */
const FRESH_MS = 2_000;

/**
 * Brings the paths of one committed save to their new state: first everything that is put in place, then everything that goes,
 * so that a rename never leaves a moment without either name. Never throws: after the commit the only direction is forward.
 */
export async function applySteps(
  root: ConfinedRoot,
  steps: readonly Step[],
  clock: Clock,
  failPoints: FailPoints,
  wallMs: number,
): Promise<Applied> {
  const applied: Applied = { rescued: [], lingering: [], failed: [] };
  const emptied: string[] = [];
  const inOrder = [...steps.filter((one) => one.after !== null), ...steps.filter((one) => one.after === null)];
  await inSlices(root, clock, inOrder, (step) => {
    try {
      const displaced =
        step.staged === undefined
          ? root.takeAway(step.path)
          : root.place(step.staged, step.before === null ? "create" : "replace");
      failPoints.hit("apply.displaced");
      if (displaced !== undefined) inspect(root, step, displaced, applied, wallMs);
      if (step.after === null) emptied.push(step.path);
    } catch (cause) {
      applied.failed.push({ step, cause });
    }
    failPoints.hit("apply.between");
  });
  // Directories are not recorded: one that a removal left empty goes too, as a version control system would have it.
  for (const path of emptied) root.removeMade(ancestors(path));
  return applied;
}

/** Removes what refused steps had staged, but for temps that hold what was displaced by now. */
export function dropStaged(root: ConfinedRoot, { failed, lingering }: Applied): void {
  for (const { step } of failed) {
    const temp = step.staged?.temp;
    if (temp !== undefined && lingering.every((one) => one.temp !== temp)) root.discard(temp);
  }
}

/** Looks at what came out of the target's place: the verified content goes, anything else is kept. */
function inspect(root: ConfinedRoot, step: Step, displaced: Displaced, applied: Applied, wallMs: number): void {
  for (const other of displaced.also ?? []) inspect(root, step, other, applied, wallMs);
  let writers: Writers;
  let found: ReturnType<typeof readDisplaced>;
  try {
    // Asked before it is read: with nobody left, what is read is all there will be.
    writers = root.writers(displaced.temp);
    found = readDisplaced(root, displaced);
  } catch {
    // Ours is in place, so the step is done. What it displaced may be anything: it stays until it can be looked at.
    keepUnseen(step, displaced, applied);
    return;
  }
  if (found === undefined) giveBack(root, step, displaced, applied);
  const known = isContent(step.before, found.content);
  const recorded = known || isContent(step.after, found.content);
  if (!recorded) applied.rescued.push({ path: step.path, ...found });
  const fresh = wallMs - Number(displaced.stat.mtimeNs / 1_000_000n) < FRESH_MS && displaced.stat.inode !== step.ownInode;
  // A fresh file's writer may be just behind its open(2), where nothing shows it yet; unknown content stays until it is recorded.
  if (!recorded || (displaced.stat.kind === "file" && (!known || fresh || writers === "some"))) {
    applied.lingering.push({ path: step.path, temp: displaced.temp, seen: found.content.sha256, writers });
    return;
  }
  root.discard(displaced.temp);
}

function isContent(state: PathState, content: NonNullable<PathState>): boolean {
  return state !== null && state.sha256 === content.sha256 && state.kind === content.kind;
}

/** Nobody has read it, so nobody can say that all there will be in it is recorded. */
function keepUnseen({ path }: Step, { temp }: Displaced, applied: Applied): void {
  applied.lingering.push({ path, temp, seen: undefined, writers: "unknown" });
}

/** A directory (or a file too large to keep) stood there: it gets its place back, and the step counts as refused. */
function giveBack(root: ConfinedRoot, step: Step, displaced: Displaced, applied: Applied): never {
  let isBack = false;
  try {
    const mine = root.takeAway(step.path);
    const isOurs = mine?.stat.inode === step.staged?.inode;
    // Somebody else was faster, here and below: what came out is not ours, or the place is taken again.
    if (mine !== undefined && !isOurs) keepUnseen(step, mine, applied);
    isBack = root.putBack(displaced, step.path);
    if (mine !== undefined && isOurs) root.discard(mine.temp);
  } finally {
    if (!isBack) keepUnseen(step, displaced, applied);
  }
  throw new GinError("NOT_A_FILE", `${step.path} is not a file any more`, undefined, { facts: { path: step.path } });
}

/** Bytes and content of a displaced file or symlink; undefined for what cannot be kept. */
function readDisplaced(
  root: ConfinedRoot,
  displaced: Displaced,
): { content: NonNullable<PathState>; bytes: Uint8Array } | undefined {
  if (displaced.stat.kind !== "file" && displaced.stat.kind !== "symlink") return undefined;
  if (displaced.stat.size > CHANGE_BYTES) return undefined;
  const { bytes, stat } = root.readTemp(displaced.temp, CHANGE_BYTES);
  return { content: contentOf(bytes, stat), bytes };
}

/** Directories above a path, outermost first. */
export function ancestors(path: string): string[] {
  const above: string[] = [];
  for (let cut = path.indexOf("/"); cut > 0; cut = path.indexOf("/", cut + 1)) above.push(path.slice(0, cut));
  return above;
}
