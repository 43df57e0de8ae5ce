import { create } from "@bufbuild/protobuf";
import {
  type CollectGarbageRequest,
  type CollectGarbageResponse,
  CollectGarbageResponseSchema,
} from "../../../gen/gin/v1/admin_pb.ts";
import type { Ground, Handlers, Invocation } from "../invocation.ts";
import { toCount } from "../limits.ts";

/** CollectGarbage: one run of gc, and what it did or would do. */
export function garbageHandlers(ground: Ground): Pick<Handlers, "collectGarbage"> {
  return { collectGarbage: (request, call) => collect(ground, request, call) };
}

async function collect(
  ground: Ground,
  request: CollectGarbageRequest,
  call: Invocation<"collectGarbage">,
): Promise<CollectGarbageResponse> {
  const { dryRun, targetBytes, requestId } = request;
  const report = await ground.garbage.collect({
    dryRun,
    signal: call.signal,
    ...(targetBytes === undefined ? {} : { targetBytes: toCount(targetBytes) }),
  });
  const response = create(CollectGarbageResponseSchema, {
    quotaBytes: BigInt(ground.garbage.quotaBytes),
    beforeBytes: BigInt(report.beforeBytes),
    afterBytes: BigInt(report.afterBytes),
    beforeHistoryBytes: BigInt(report.historyBeforeBytes),
    afterHistoryBytes: BigInt(report.historyAfterBytes),
    unreachableObjects: BigInt(report.unreachableObjects),
    thinnedObjects: BigInt(report.thinnedObjects),
    removedCheckpoints: BigInt(report.removedCheckpoints),
    dryRun,
    requestId,
  });
  // After its effect: a daemon killed in between leaves less history and no outcome, and the retry finds little left to do.
  if (!dryRun) await ground.store.write("request", call.remember(response));
  return response;
}
