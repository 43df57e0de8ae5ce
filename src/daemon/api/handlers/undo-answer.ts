import type { MessageInitShape } from "@bufbuild/protobuf";
import { UndoneOutcome, type UndonePathSchema } from "../../../gen/gin/v1/undo_pb.ts";
import { GinError, type Json } from "../../base/index.ts";
import type { UndoConflictHunk, UndonePathPlan, UndoPlan } from "../../history/index.ts";

/** Paths and bytes of conflicting text that an answer shows; the rest is kept for Details. */
const SHOWN_PATHS = 1_000;
const SHOWN_BYTES = 24 * 1024;

const OUTCOMES: { readonly [K in UndonePathPlan["outcome"]]: UndoneOutcome } = {
  reversed: UndoneOutcome.REVERSED,
  no_change: UndoneOutcome.NO_CHANGE,
  conflict: UndoneOutcome.CONFLICT,
  skipped: UndoneOutcome.SKIPPED,
};

/** The first of some paths, with their texts as far as they fit. */
export interface Shown<T> {
  readonly paths: T[];
  /** Something was left out. */
  readonly cut: boolean;
}

/** Shows paths as `whole`, and as `brief` (without their texts) where the room for texts is used up. */
export function bounded<T>(paths: readonly UndonePathPlan[], whole: (path: UndonePathPlan) => T): Shown<T> {
  let room = SHOWN_BYTES;
  let cut = paths.length > SHOWN_PATHS;
  const shown = paths.slice(0, SHOWN_PATHS).map((path) => {
    const cost = path.hunks.reduce((sum, hunk) => sum + hunk.undone.length + hunk.current.length + hunk.wanted.length + 200, 0);
    if (cost <= room) {
      room -= cost;
      return whole(path);
    }
    cut = true;
    return whole({ ...path, hunks: [] });
  });
  return { paths: shown, cut };
}

/** A path in the contract's form. */
export function toUndonePath(path: UndonePathPlan): MessageInitShape<typeof UndonePathSchema> {
  return {
    path: path.path,
    outcome: OUTCOMES[path.outcome],
    sha256: path.state?.sha256 ?? "",
    size: BigInt(path.state?.size ?? 0),
    deleted: path.state === null,
    executable: path.state?.executable ?? false,
    renamedTo: path.renamedTo ?? "",
    conflict: path.conflict ?? "",
    conflicts: conflictsOf(path).map((hunk) => ({
      startLine: BigInt(hunk.startLine),
      endLine: BigInt(hunk.endLine),
      undoneText: hunk.undone,
      currentText: hunk.current,
      wantedText: hunk.wanted,
      checkpoint: hunk.checkpoint,
      principal: hunk.principal,
    })),
  };
}

/** Its hunks; for a conflict of the whole path one without lines, which says who stands in the way. */
function conflictsOf(path: UndonePathPlan): readonly UndoConflictHunk[] {
  if (path.hunks.length > 0 || path.by === undefined) return path.hunks;
  return [{ startLine: 0, endLine: 0, undone: "", current: "", wanted: "", ...path.by }];
}

/** A path as a line of Details says it: the fields of the contract. */
export function undoneFacts(path: UndonePathPlan): { readonly [key: string]: Json } {
  return {
    path: path.path,
    outcome: path.outcome,
    sha256: path.state?.sha256 ?? "",
    size: String(path.state?.size ?? 0),
    deleted: path.state === null,
    executable: path.state?.executable ?? false,
    renamed_to: path.renamedTo ?? "",
    ...conflictFacts(path),
  };
}

/** The conflict of a path as facts. */
export function conflictFacts(path: UndonePathPlan): { readonly [key: string]: Json } {
  if (path.conflict === undefined) return {};
  const by = path.by ?? path.hunks.find((hunk) => hunk.checkpoint !== "");
  return {
    path: path.path,
    conflict: path.conflict,
    ...(by === undefined ? {} : { checkpoint: by.checkpoint, changed_by: by.principal === "" ? "unknown" : by.principal }),
    ...(path.missing === undefined ? {} : { sha256: path.missing }),
    hunks: path.hunks.map((hunk) => ({
      current_lines: [hunk.startLine, hunk.endLine],
      undone: hunk.undone,
      current: hunk.current,
      wanted: hunk.wanted,
      checkpoint: hunk.checkpoint,
      changed_by: hunk.principal === "" ? "unknown" : hunk.principal,
    })),
  };
}

/** The refusal of an undo that is not clean; `detailId` is where all of it is kept when it was cut. */
export function refusal(
  plan: UndoPlan,
  shown: Shown<{ readonly [key: string]: Json }>,
  detailId: string | undefined,
  nextCall: { readonly [key: string]: Json } | undefined,
): GinError {
  const conflicts = plan.paths.filter((path) => path.conflict !== undefined);
  const [first] = conflicts;
  const names = `${first?.path ?? "a path"}${conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : ""}`;
  const more = { ...(detailId === undefined ? {} : { detailId }), ...(nextCall === undefined ? {} : { nextCall }) };
  if (first !== undefined && conflicts.every((path) => path.conflict === "base_unavailable")) {
    return new GinError("CONTENT_NOT_KEPT", `${names} cannot be taken back: the bytes of then are not kept`, undefined, {
      ...more,
      facts: { path: first.path, sha256: first.missing ?? "" },
    });
  }
  const suggestion =
    nextCall === undefined
      ? "take the later work back first, or change the lines by a save"
      : "skip_conflicts takes back the rest; preview shows both";
  return new GinError("MERGE_CONFLICT", `${names} cannot be taken back: other work stands in the way`, suggestion, {
    ...more,
    facts: { paths: shown.paths, path_count: conflicts.length },
  });
}
