import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Cause } from "../../../gen/gin/v1/common_pb.ts";
import type { CheckpointSchema, TouchedPathSchema } from "../../../gen/gin/v1/history_pb.ts";
import type { Caller } from "../../base/index.ts";
import { mayTouch } from "../../policy/index.ts";
import { type CauseName, type Checkpoint, compareBytes, type PathChange } from "../../store/index.ts";
import type { Ground } from "../invocation.ts";
import { LIMITS } from "../limits.ts";

const CAUSES: { readonly [K in CauseName]: Cause } = {
  import: Cause.IMPORT,
  save: Cause.SAVE,
  tool: Cause.TOOL,
  shell: Cause.SHELL,
  external: Cause.EXTERNAL,
  undo: Cause.UNDO,
  redo: Cause.REDO,
  advance: Cause.ADVANCE,
  merge: Cause.MERGE,
};

/** A cause of the store in the contract's form. */
export function toCause(name: CauseName): Cause {
  return CAUSES[name];
}

/** The store's name of a cause; undefined for "any". */
export function causeName(cause: Cause): CauseName | undefined {
  return (Object.keys(CAUSES) as CauseName[]).find((name) => CAUSES[name] === cause);
}

/** The detail id of a checkpoint's whole list of paths: derived, so that listing checkpoints writes nothing. */
export function pathsDetailId(checkpoint: string): string {
  return `dt_${checkpoint.slice(3)}`;
}

/** The changes this caller may see: those under its path prefixes, and no name outside them. */
export function visibleTo(caller: Caller, paths: readonly PathChange[]): PathChange[] {
  const visible = paths.filter((change) => mayTouch(caller, change.path));
  return visible.map(({ renamedFrom, ...change }) =>
    renamedFrom !== undefined && mayTouch(caller, renamedFrom) ? { ...change, renamedFrom } : change,
  );
}

/** How many paths a checkpoint touched, and the first of those this caller may see. */
export function firstTouched(
  ground: Ground,
  caller: Caller,
  id: string,
  most: number,
): { readonly paths: readonly PathChange[]; readonly count: number } {
  const { reader } = ground;
  if (caller.paths === undefined) return reader.touched(id, 0, most);
  const below = new Map(caller.paths.flatMap((prefix) => reader.touchedBelow(id, prefix, most)).map((one) => [one.path, one]));
  const paths = [...below.values()].sort((a, b) => compareBytes(a.path, b.path)).slice(0, most);
  return { paths: visibleTo(caller, paths), count: reader.touched(id, 0, 0).count };
}

/** Ids of taken-back checkpoints that an answer names at most. */
export const MOST_UNDOES = 100;

/** A checkpoint in the contract's form, with the first of the paths it touched that this caller may see. */
export function toCheckpoint(
  ground: Ground,
  caller: Caller,
  row: Checkpoint,
  most: number = LIMITS.checkpoint_paths.value,
): MessageInitShape<typeof CheckpointSchema> {
  const { paths, count } = firstTouched(ground, caller, row.id, most);
  return {
    id: row.id,
    parents: [...row.parents],
    generation: BigInt(row.generation),
    cause: CAUSES[row.cause],
    principal: row.principal,
    requestId: row.requestId,
    message: row.message,
    time: timestampFromMs(row.timeMs),
    paths: paths.map(toTouched),
    pathCount: BigInt(count),
    detailId: count > most ? pathsDetailId(row.id) : "",
    undoes: row.cause === "undo" || row.cause === "redo" ? ground.reader.undone(row.id).slice(0, MOST_UNDOES) : [],
  };
}

function toTouched(change: PathChange): MessageInitShape<typeof TouchedPathSchema> {
  return {
    path: change.path,
    beforeSha256: change.before?.sha256 ?? "",
    afterSha256: change.after?.sha256 ?? "",
    beforeExecutable: change.before?.executable ?? false,
    afterExecutable: change.after?.executable ?? false,
    beforeSize: BigInt(change.before?.size ?? 0),
    afterSize: BigInt(change.after?.size ?? 0),
    renamedFrom: change.renamedFrom ?? "",
  };
}

/** A touched path as a line of Details says it: the fields of the contract. */
export function touchedFacts(change: PathChange): object {
  return {
    path: change.path,
    before_sha256: change.before?.sha256 ?? "",
    after_sha256: change.after?.sha256 ?? "",
    before_executable: change.before?.executable ?? false,
    after_executable: change.after?.executable ?? false,
    before_size: String(change.before?.size ?? 0),
    after_size: String(change.after?.size ?? 0),
    renamed_from: change.renamedFrom ?? "",
  };
}
