import { toJson } from "@bufbuild/protobuf";
import { OnConflict, type SaveRequest, SaveRequestSchema } from "../../../gen/gin/v1/save_pb.ts";
import { GinError, type Json } from "../../base/index.ts";

/** Bytes of a request that is given back as the next call; a larger one is only named, or the error would outgrow a page. */
const NEXT_CALL_BYTES = 8 * 1024;

/**
 * Adds to a STALE_CONTENT whose every path merges cleanly the call that merges: the very request with on_conflict MERGE. Any
 * other error is given back as it is. Texts of a larger request are left out: the caller has them.
 */
export function withMergeCall(thrown: unknown, request: SaveRequest): unknown {
  if (!(thrown instanceof GinError) || thrown.reason !== "STALE_CONTENT" || !mergesCleanly(thrown)) return thrown;
  const merging = { ...request, onConflict: OnConflict.MERGE };
  let save = toJson(SaveRequestSchema, merging, { useProtoFieldName: true }) as { [key: string]: Json };
  if (JSON.stringify(save).length > NEXT_CALL_BYTES) {
    const { edits: _left, ...rest } = save;
    save = rest;
  }
  return new GinError("STALE_CONTENT", thrown.message, thrown.suggestion, {
    facts: thrown.facts,
    nextCall: { save },
    ...(thrown.detailId === undefined ? {} : { detailId: thrown.detailId }),
    cause: thrown,
  });
}

function mergesCleanly(error: GinError): boolean {
  const paths = error.facts.paths;
  const count = error.facts.path_count;
  return (
    Array.isArray(paths) &&
    paths.length === count &&
    paths.every((one: Json) => typeof one === "object" && one !== null && "merge" in one && one.merge === "clean")
  );
}
