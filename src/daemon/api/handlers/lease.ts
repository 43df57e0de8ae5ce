import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AcquireLeaseRequest,
  type AcquireLeaseResponse,
  AcquireLeaseResponseSchema,
  type BreakLeaseRequest,
  type BreakLeaseResponse,
  BreakLeaseResponseSchema,
  type LeaseSchema,
  type ListLeasesRequest,
  type ListLeasesResponse,
  ListLeasesResponseSchema,
  ReleaseLeaseResponseSchema,
  RenewLeaseResponseSchema,
} from "../../../gen/gin/v1/lease_pb.ts";
import { type Caller, GinError } from "../../base/index.ts";
import { type Fence, type Lease, leaseHeld } from "../../lease/index.ts";
import { mayTouch } from "../../policy/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateIn, targetOf } from "../invocation.ts";
import { checkLeast, checkMost, checkSize, invalid, LIMITS, toCount, utf8Bytes } from "../limits.ts";
import { requirePath } from "../resolve.ts";

type LeaseHandlers = Pick<Handlers, "acquireLease" | "renewLease" | "releaseLease" | "listLeases" | "breakLease">;

/** Leases: form, paths and rights here; grants in the lease room. */
export function leaseHandlers(ground: Ground): LeaseHandlers {
  const { leases } = ground;
  return {
    acquireLease: (request, call) => acquire(ground, request, call),
    async renewLease(request, call) {
      const fence = fenceOf(request.leaseId, request.leaseIncarnation, request.leaseEpoch);
      const ttlMs = request.ttlMs === 0n ? undefined : ttlOf(request.ttlMs);
      const lease = leases.renew(targetOf(call).rowid, request.leaseId, fence, ttlMs);
      return create(RenewLeaseResponseSchema, { ...stateIn(call), lease: toLease(lease, true) });
    },
    async releaseLease(request, call) {
      const fence = fenceOf(request.leaseId, request.leaseIncarnation, request.leaseEpoch);
      const released = await leases.release(targetOf(call).rowid, request.leaseId, fence);
      return create(ReleaseLeaseResponseSchema, { ...stateIn(call), released });
    },
    listLeases: (request, call) => list(ground, request, call),
    breakLease: (request, call) => breakLease(ground, request, call),
  };
}

async function acquire(
  ground: Ground,
  request: AcquireLeaseRequest,
  call: Invocation<"acquireLease">,
): Promise<AcquireLeaseResponse> {
  const { workspace, rowid } = targetOf(call);
  const ttlMs = request.ttlMs === 0n ? LIMITS.lease_ttl_default_ms.value : ttlOf(request.ttlMs);
  const waitMs = toCount(request.waitMs);
  checkMost("lease_wait_max_ms", waitMs, "wait_ms");
  checkSize("lease_paths", request.paths.length, "paths");
  checkSize("lease_intent_bytes", utf8Bytes(request.intent), "intent");
  const paths = request.paths.map((path) => workspace.canonical(path === "." ? "" : path));
  // A lease on "" is one on everything, whatever stands beside it.
  const scope = paths.includes("") ? [] : [...new Set(paths)];
  for (const path of scope.length === 0 ? [""] : scope) requirePath(call.caller, path);
  const respond = (lease: Lease) =>
    create(AcquireLeaseResponseSchema, { ...stateIn(call), lease: toLease(lease, true), requestId: request.requestId });
  const lease = await ground.leases.acquire({
    workspace: rowid,
    principal: call.caller.principal,
    paths: scope,
    ttlMs,
    intent: request.intent,
    waitMs,
    signal: call.signal,
    request: (granted) => call.remember(respond(granted)),
  });
  return respond(lease);
}

async function breakLease(
  ground: Ground,
  request: BreakLeaseRequest,
  call: Invocation<"breakLease">,
): Promise<BreakLeaseResponse> {
  if (request.leaseId === "") throw invalid("lease_id", "must name a lease");
  checkSize("note_bytes", utf8Bytes(request.note), "note");
  const respond = (lease: Lease) =>
    create(BreakLeaseResponseSchema, { ...stateIn(call), lease: toLease(lease, false), requestId: request.requestId });
  const broken = await ground.leases.breakLease(targetOf(call).rowid, request.leaseId, (lease) => call.remember(respond(lease)));
  ground.log.warn({ lease: broken.id, holder: broken.holder, by: call.caller.principal }, "a lease was broken");
  return respond(broken);
}

function list(ground: Ground, request: ListLeasesRequest, call: Invocation): ListLeasesResponse {
  const target = targetOf(call);
  const limit = pageSize(request.limit, LIMITS.list_default_entries.value);
  checkMost("list_max_entries", limit, "limit");
  const { principal } = call.caller;
  const scope: CursorScope = { operation: "ListLeases", principal, query: [target.id] };
  const after = ground.cursors.open(scope, request.cursor);
  // Epochs only grow, so a lease granted between two pages comes later and none is shown twice.
  const rest = ground.leases
    .list(target.rowid)
    .filter((lease) => typeof after !== "number" || lease.leaseEpoch > after)
    .flatMap((lease) => visibleLease(call.caller, lease) ?? [])
    .sort((a, b) => a.leaseEpoch - b.leaseEpoch);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return create(ListLeasesResponseSchema, {
    ...stateIn(call),
    leases: page.map((lease) => toLease(lease, lease.holder === principal)),
    nextCursor: last !== undefined && rest.length > limit ? ground.cursors.seal(scope, last.leaseEpoch) : "",
  });
}

/** The lease with the paths that concern the caller: those it may touch, and those that lie around them; undefined for none. */
export function visibleLease<T extends { readonly paths: readonly string[] }>(caller: Caller, lease: T): T | undefined {
  const { paths: own } = caller;
  if (own === undefined || lease.paths.length === 0) return lease;
  const around = (path: string) => own.some((prefix) => mayTouch({ ...caller, paths: [path] }, prefix));
  const paths = lease.paths.filter((path) => mayTouch(caller, path) || around(path));
  return paths.length === 0 ? undefined : { ...lease, paths };
}

/** A refusal as the caller may see it: LEASE_HELD tells of the lease what ListLeases does, and nothing of one that is not shown there. */
export function visibleRefusal(caller: Caller, thrown: unknown): unknown {
  if (!(thrown instanceof GinError) || thrown.reason !== "LEASE_HELD") return thrown;
  const { lease_id: id, holder, intent, paths } = thrown.facts;
  const claim = { id: String(id), holder: String(holder), intent: String(intent), paths: paths as readonly string[] };
  const lease = visibleLease(caller, claim);
  if (lease !== undefined) return leaseHeld(lease, thrown.retryAfterMs);
  return new GinError("ID_NOT_FOUND", "no such lease here", undefined, { facts: { id: claim.id } });
}

/** A lease in the contract's form. Its fence is permission to write: only the holder sees it. */
export function toLease(lease: Lease, withFence: boolean): MessageInitShape<typeof LeaseSchema> {
  return {
    leaseId: lease.id,
    holder: lease.holder,
    intent: lease.intent,
    paths: [...lease.paths],
    leaseIncarnation: withFence ? lease.leaseIncarnation : "",
    leaseEpoch: withFence ? BigInt(lease.leaseEpoch) : 0n,
    remainingMs: BigInt(Math.max(0, Math.floor(lease.remainingMs))),
    ttlMs: BigInt(lease.ttlMs),
  };
}

function ttlOf(asked: bigint): number {
  const ttlMs = toCount(asked);
  checkLeast("lease_ttl_min_ms", ttlMs, "ttl_ms");
  checkMost("lease_ttl_max_ms", ttlMs, "ttl_ms");
  return ttlMs;
}

function fenceOf(leaseId: string, leaseIncarnation: string, leaseEpoch: bigint | undefined): Fence {
  if (leaseId === "") throw invalid("lease_id", "must name a lease");
  if (leaseIncarnation === "") throw invalid("lease_incarnation", "is half of the fence and must be given");
  if (leaseEpoch === undefined) throw invalid("lease_epoch", "is half of the fence and must be given");
  return { leaseIncarnation, leaseEpoch: toCount(leaseEpoch) };
}

/** A replayed grant tells the time the lease has left now, and 0 once it is over. */
export function refreshLease(ground: Ground, response: AcquireLeaseResponse): void {
  if (response.lease === undefined) return;
  const lease = ground.leases.find(response.lease.leaseId);
  const same = lease !== undefined && BigInt(lease.leaseEpoch) === response.lease.leaseEpoch;
  response.lease.remainingMs = same ? BigInt(Math.max(0, Math.floor(lease.remainingMs))) : 0n;
}
