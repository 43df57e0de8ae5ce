import { create } from "@bufbuild/protobuf";
import {
  OnConflict,
  type SavedPath,
  type SaveRequest,
  type SaveResponse,
  SaveResponseSchema,
} from "../../../gen/gin/v1/save_pb.ts";
import type { Caller } from "../../base/index.ts";
import { requireScope } from "../../policy/index.ts";
import type { DetailRow } from "../../store/index.ts";
import type { SaveInput, SaveOutcome } from "../../workspace/index.ts";
import { type Ground, type Handlers, type Invocation, stateOf, targetOf } from "../invocation.ts";
import { invalid, LIMITS, toCount } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { listBody } from "./details.ts";
import { editsOf } from "./edits.ts";
import { withMergeCall } from "./merge-next.ts";

/** Save: form here, judgement in the workspace's engine. */
export function saveHandlers(ground: Ground): Pick<Handlers, "save"> {
  return { save: (request, call) => save(ground, request, call) };
}

async function save(ground: Ground, request: SaveRequest, call: Invocation<"save">): Promise<SaveResponse> {
  const target = targetOf(call);
  let detail: DetailRow | undefined;
  const remember: NonNullable<SaveInput["remember"]> = (outcome) => {
    const response = responseOf(request, outcome);
    const row = call.remember(response);
    if (row.answer.byteLength <= LIMITS.answer_kept_bytes.value) return row;
    const id = ground.random.id("dt");
    detail = {
      id,
      workspace: target.rowid,
      principal: call.caller.principal,
      kind: "save.paths",
      body: listBody(outcome.paths.map((saved) => pathFacts(saved))),
      timeMs: row.timeMs,
    };
    return call.remember(response, { ...response, paths: [], rescued: [], detailId: id });
  };
  const input = { ...inputOf(ground, request, call.caller), ...(request.dryRun ? {} : { remember }), signal: call.signal };
  // Before its turn: what changed outside on any path is recorded, and counts for `generation`.
  if (request.sync) await target.workspace.sync(call.signal);
  const outcome = await target.workspace.save(input).catch((thrown: unknown) => {
    throw withMergeCall(thrown, request);
  });
  // The committed row names the detail; a replay within its day needs it, so it goes before the answer.
  if (detail !== undefined) await ground.store.write("detail", detail);
  return responseOf(request, outcome);
}

function inputOf(ground: Ground, request: SaveRequest, caller: Caller): SaveInput {
  const edits = editsOf(request, caller);
  return {
    ...saverOf(ground, request, caller),
    edits,
    onConflict: request.onConflict === OnConflict.MERGE ? "merge" : "refuse",
    message: request.message,
    dryRun: request.dryRun,
    cause: "save",
  };
}

/** Fields of every request that may end in a save. */
interface Saving {
  readonly requestId: string;
  readonly incarnation: string;
  readonly generation?: bigint | undefined;
  readonly epoch?: bigint | undefined;
  readonly leaseIncarnation: string;
  readonly leaseEpoch?: bigint | undefined;
}

/** Of a save whatever request it comes from: whose it is, where the workspace must stand, under which lease, and what the caller may touch. */
export function saverOf(
  ground: Pick<Ground, "requireLease">,
  request: Saving,
  caller: Caller,
): Pick<SaveInput, "principal" | "requestId" | "incarnation" | "generation" | "epoch" | "fence" | "leaseRequired" | "authorise"> {
  return {
    principal: caller.principal,
    requestId: request.requestId,
    ...(request.incarnation === "" ? {} : { incarnation: request.incarnation }),
    ...(request.generation === undefined ? {} : { generation: toCount(request.generation) }),
    ...(request.epoch === undefined ? {} : { epoch: toCount(request.epoch) }),
    ...fenceOf(request.leaseIncarnation, request.leaseEpoch),
    leaseRequired: leaseRequired(ground, caller),
    authorise(path, action) {
      requireScope(caller, action);
      requirePath(caller, path);
    },
  };
}

/** Whether this caller must hold a lease to save: by default those who come over TCP. */
export function leaseRequired(ground: Pick<Ground, "requireLease">, caller: Caller): boolean {
  return ground.requireLease === "always" || (ground.requireLease === "auto" && caller.transport === "tcp");
}

/** `{ fence }` of a request; both halves or none. */
export function fenceOf(leaseIncarnation: string, leaseEpoch: bigint | undefined): Pick<SaveInput, "fence"> {
  if (leaseIncarnation === "" && leaseEpoch === undefined) return {};
  if (leaseIncarnation === "") throw invalid("lease_incarnation", "a fence is lease_incarnation and lease_epoch together");
  if (leaseEpoch === undefined) throw invalid("lease_epoch", "a fence is lease_incarnation and lease_epoch together");
  return { fence: { leaseIncarnation, leaseEpoch: toCount(leaseEpoch) } };
}

function responseOf(request: SaveRequest, outcome: SaveOutcome): SaveResponse {
  return create(SaveResponseSchema, {
    state: stateOf(outcome.state),
    checkpoint: outcome.checkpoint,
    paths: outcome.paths.map(toSavedPath),
    noChange: outcome.noChange,
    applyPending: outcome.applyPending,
    dryRun: outcome.dryRun,
    requestId: request.requestId,
    rescued: outcome.rescued.map(({ path, sha256, checkpoint }) => ({ path, sha256, checkpoint })),
  });
}

function toSavedPath(saved: SaveOutcome["paths"][number]): Omit<SavedPath, "$typeName" | "$unknown"> {
  return {
    path: saved.path,
    sha256: saved.content?.sha256 ?? "",
    size: BigInt(saved.content?.size ?? 0),
    merged: saved.merged,
    noChange: saved.noChange,
    deleted: saved.content === null,
  };
}

/** A saved path as a line of Details says it: the fields of the contract. */
function pathFacts(saved: SaveOutcome["paths"][number]): object {
  return {
    path: saved.path,
    sha256: saved.content?.sha256 ?? "",
    size: String(saved.content?.size ?? 0),
    merged: saved.merged,
    no_change: saved.noChange,
    deleted: saved.content === null,
  };
}
