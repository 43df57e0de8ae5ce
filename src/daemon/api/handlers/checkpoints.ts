import { create } from "@bufbuild/protobuf";
import { Cause } from "../../../gen/gin/v1/common_pb.ts";
import { type ListCheckpointsResponse, ListCheckpointsResponseSchema } from "../../../gen/gin/v1/history_pb.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, stateIn, targetOf } from "../invocation.ts";
import { checkMost, LIMITS } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { causeName, toCheckpoint } from "./checkpoint.ts";
import { treePath } from "./snapshot.ts";

/** ListCheckpoints: the log, newest first. */
export function checkpointHandlers(ground: Ground): Pick<Handlers, "listCheckpoints"> {
  return {
    listCheckpoints(request, call): ListCheckpointsResponse {
      const target = targetOf(call);
      const limit = pageSize(request.limit, LIMITS.list_default_entries.value);
      checkMost("list_max_entries", limit, "limit");
      const path = request.path === "" ? "" : treePath(request.path);
      if (path !== "") requirePath(call.caller, path);
      const cause = request.cause === Cause.UNSPECIFIED ? undefined : causeName(request.cause);
      const scope: CursorScope = {
        operation: "ListCheckpoints",
        principal: call.caller.principal,
        query: [target.id, path, request.principal, cause ?? ""],
      };
      // Generations name checkpoints for good, so a page stays the same whatever is saved meanwhile.
      const before = ground.cursors.open(scope, request.cursor);
      const rows = ground.reader.checkpoints({
        workspace: target.rowid,
        ...(path === "" ? {} : { path }),
        ...(request.principal === "" ? {} : { principal: request.principal }),
        ...(cause === undefined ? {} : { cause }),
        ...(typeof before === "number" ? { beforeGeneration: before } : {}),
        limit: limit + 1,
      });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return create(ListCheckpointsResponseSchema, {
        ...stateIn(call),
        checkpoints: page.map((row) => toCheckpoint(ground, call.caller, row)),
        nextCursor: last !== undefined && rows.length > limit ? ground.cursors.seal(scope, last.generation) : "",
      });
    },
  };
}
