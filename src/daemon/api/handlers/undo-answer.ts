import type { MessageInitShape } from "@bufbuild/protobuf";
import { UndoneOutcome, type UndonePathSchema } from "../../../gen/gin/v1/undo_pb.ts";
import type { UndoConflictHunk, UndonePathPlan } from "../../history/index.ts";

const OUTCOMES: { readonly [K in UndonePathPlan["outcome"]]: UndoneOutcome } = {
  reversed: UndoneOutcome.REVERSED,
  no_change: UndoneOutcome.NO_CHANGE,
  conflict: UndoneOutcome.CONFLICT,
  skipped: UndoneOutcome.SKIPPED,
};

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
