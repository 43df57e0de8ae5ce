import type { Line } from "./commit-builder.ts";
import type { Observed } from "./observe.ts";
import type { SaveInput, SaveOutcome, State } from "./types.ts";

/** A save waiting for its turn. States: queued → (cancelled | preparing → committing → applying → answered). */
export interface SaveTurn {
  readonly kind: "save";
  readonly input: SaveInput;
  readonly resolve: (outcome: SaveOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** Times it went back into the queue after a failed batch. */
  attempts: number;
}

/** A read that saw bytes nobody recorded. */
export interface ReadTurn {
  readonly kind: "absorb";
  readonly path: string;
  readonly resolve: (found: { readonly seen: Observed; readonly state: State }) => void;
  readonly reject: (error: unknown) => void;
}

/** What a look at the disk found to differ from what is recorded, each path once, without the bytes: those are in the store. */
export interface Burst {
  /** Head's counter before the first of the paths was looked at. */
  readonly since: number;
  readonly seen: readonly Observed[];
}

/** A burst to be recorded as one checkpoint; alone in its batch, for it may touch anything. */
export interface BurstTurn {
  readonly kind: "burst";
  readonly burst: Burst;
  /** Whether it was planned before, and its commit came to nothing. */
  tried: boolean;
  /** `again`: paths that changed through gin since they were looked at; what was seen of them is not recorded. */
  readonly resolve: (recorded: { readonly line: Line; readonly again: readonly string[] }) => void;
  readonly reject: (error: unknown) => void;
}

/** A turn that records what was seen on disk, for nobody. */
export type AbsorbTurn = ReadTurn | BurstTurn;

/** Another try for committed paths that are not on disk, or a last look at displaced files; alone in its batch. */
export interface RepairTurn {
  readonly kind: "repair";
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export type Turn = SaveTurn | AbsorbTurn | RepairTurn;

/** Whether a turn must be the first of its batch: it speaks of the whole workspace, or must be alone. */
export function mustBeFirst(turn: Turn): boolean {
  return mustBeAlone(turn) || (turn.kind === "save" && turn.input.generation !== undefined);
}

/** Whether nothing may share the turn's batch: it changes how other paths resolve, or works on the whole line. */
export function mustBeAlone(turn: Turn): boolean {
  return (
    turn.kind === "repair" ||
    turn.kind === "burst" ||
    (turn.kind === "save" && turn.input.edits.some((edit) => edit.link !== undefined))
  );
}
