import type { Pace } from "../base/index.ts";
import type { PathState, PathTouch, StoreReader } from "../store/index.ts";
import type { SpanState } from "./spans-state.ts";

/** What a checkpoint did to the content whose lines are followed. */
export interface Step {
  readonly generation: number;
  readonly checkpoint: string;
  /** The path afterwards, and what it was called before. */
  readonly path: string;
  readonly beforePath: string;
  readonly before: PathState;
  readonly after: PathState;
  /** Of an undo or redo: what it took back of this content, newest first. */
  readonly restores: readonly Restore[];
  /** An undo or redo of something history does not tell any more. */
  readonly blurred: boolean;
}

/** A checkpoint that was taken back, as it found the content. */
export interface Restore {
  readonly generation: number;
  readonly path: string;
  readonly before: PathState;
}

/** Steps to go through, oldest first, from what is known: a state, nothing (the path was absent), or "unknown" (no longer told). */
export interface Chain {
  readonly base: SpanState | undefined | "unknown";
  readonly steps: readonly Step[];
}

/** Kept spans, unpacked when they are needed. */
export interface KeptBefore {
  readonly generation: number;
  readonly load: () => SpanState;
}

/** Reads a chain asks the store for. */
export type ChainReader = Pick<StoreReader, "touchesBefore" | "touchAt" | "renameOnto" | "undone" | "checkpoint" | "hasObject">;

/** Touches read at a time. */
const PAGE = 128;

/**
 * Walks back from the touch of a path in a generation to the newest state that is known, through renames.
 * `known` gives a state in memory at exactly a touch; `keptBefore` the newest kept one up to a generation.
 */
export async function chainTo(
  reader: ChainReader,
  workspace: number,
  path: string,
  generation: number,
  known: (path: string, generation: number) => SpanState | undefined,
  keptBefore: (path: string, until: number) => KeptBefore | undefined,
  pace: Pace,
): Promise<Chain> {
  const steps: Step[] = [];
  const done = (base: Chain["base"]): Chain => ({ base, steps: steps.reverse() });
  let name = path;
  let until = generation;
  for (;;) {
    const kept = keptBefore(name, until);
    const page = reader.touchesBefore(workspace, name, kept?.generation ?? -1, until, PAGE);
    if (page.length === 0) return done(kept?.load() ?? "unknown");
    let renamed: string | undefined;
    for (const touch of page) {
      const state = known(name, touch.generation);
      if (state !== undefined) return done(state);
      const step = toStep(reader, workspace, name, touch);
      steps.push(step);
      until = touch.generation - 1;
      if (step.before === null) return done(undefined);
      if (!sameBytes(step) && !reader.hasObject(step.before.sha256)) return done("unknown");
      if (touch.renamedFrom !== undefined) {
        renamed = touch.renamedFrom;
        break;
      }
    }
    name = renamed ?? name;
    await pace.next();
  }
}

/** True when a step left the content as it was: a rename or another mode. */
export function sameBytes({ before, after }: Pick<Step, "before" | "after">): boolean {
  return before !== null && after !== null && before.kind === after.kind && before.sha256 === after.sha256;
}

function toStep(reader: ChainReader, workspace: number, path: string, touch: PathTouch): Step {
  const { generation, checkpoint, renamedFrom, after } = touch;
  const source = renamedFrom === undefined ? touch : reader.touchAt(workspace, renamedFrom, generation);
  const step = { generation, checkpoint, path, beforePath: renamedFrom ?? path, before: source?.before ?? null, after };
  if (touch.cause !== "undo" && touch.cause !== "redo") return { ...step, restores: [], blurred: false };
  return { ...step, ...restoresOf(reader, workspace, step) };
}

function restoresOf(
  reader: ChainReader,
  workspace: number,
  step: Pick<Step, "generation" | "checkpoint" | "path" | "beforePath">,
): Pick<Step, "restores" | "blurred"> {
  const restores: Restore[] = [];
  let blurred = false;
  let name = step.beforePath;
  let until = step.generation - 1;
  for (const id of reader.undone(step.checkpoint)) {
    const taken = reader.checkpoint(id);
    if (taken === undefined) blurred = true;
    if (taken === undefined || taken.workspace !== workspace || taken.generation >= step.generation) continue;
    // Newest first, so the name only goes further back; one out of order is looked up by the name it would have now.
    for (let rename = reader.renameOnto(workspace, name, taken.generation, until); rename !== undefined; ) {
      name = rename.from;
      until = rename.generation - 1;
      rename = reader.renameOnto(workspace, name, taken.generation, until);
    }
    const touched = reader.touchAt(workspace, name, taken.generation) ?? reader.touchAt(workspace, step.path, taken.generation);
    if (touched === undefined) continue;
    const from = touched.renamedFrom;
    const source = from === undefined ? touched : reader.touchAt(workspace, from, taken.generation);
    restores.push({ generation: taken.generation, path: from ?? touched.path, before: source?.before ?? null });
  }
  return { restores, blurred };
}
