import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { CapabilitiesResponseSchema, type OperationSchema } from "../../../gen/gin/v1/context_pb.ts";
import type { Caller } from "../../base/index.ts";
import { type Ground, type Handlers, stateIn, type Target } from "../invocation.ts";
import { LIMITS } from "../limits.ts";
import {
  fieldOf,
  nameOf,
  OPERATION_KEYS,
  OPERATIONS,
  type Operation,
  type OperationKey,
  STREAM_KEYS,
  STREAMS,
  type StreamKey,
} from "../operations.ts";
import type { FeatureFact } from "../types.ts";
import { leaseRequired } from "./save.ts";

/** Major of the protocol spoken here. */
export const PROTOCOL = 1;

/** Capabilities: what works, for this caller, on this machine. */
export function capabilitiesHandlers(ground: Ground): Pick<Handlers, "capabilities"> {
  return {
    capabilities: (_request, call) =>
      create(CapabilitiesResponseSchema, {
        ...stateIn(call),
        version: ground.version,
        protocol: PROTOCOL,
        principal: call.caller.principal,
        scopes: [...call.caller.scopes].sort(),
        operations: [
          ...OPERATION_KEYS.filter((key) => mayCall(call.caller, OPERATIONS[key])).map((key) => toOperation(key)),
          ...STREAM_KEYS.filter((key) => mayCall(call.caller, STREAMS[key])).map(toStream),
        ],
        limits: Object.entries(LIMITS).map(([name, { value, unit }]) => ({ name, value: BigInt(value), unit })),
        features: features(ground, call.caller, call.target),
      }),
  };
}

function mayCall(caller: Caller, operation: Operation): boolean {
  return caller.scopes.has(operation.action);
}

function toOperation(key: OperationKey): MessageInitShape<typeof OperationSchema> {
  const { kind, action } = OPERATIONS[key];
  return { name: nameOf(key), field: fieldOf(key), kind, scope: action };
}

/** A stream has no field: Call does not carry it. */
function toStream(key: StreamKey): MessageInitShape<typeof OperationSchema> {
  const { kind, action } = STREAMS[key];
  return { name: nameOf(key), field: "", kind, scope: action };
}

/** The host's features, with what the api knows better for this caller in their place. */
function features(ground: Ground, caller: Caller, target: Target | undefined): FeatureFact[] {
  const own = featuresOf(ground, caller, target);
  return [...own, ...ground.host.features().filter((fact) => own.every((one) => one.name !== fact.name))];
}

/** Features the api itself decides. */
function featuresOf(ground: Ground, caller: Caller, target: Target | undefined): FeatureFact[] {
  const needed = leaseRequired(ground, caller);
  return [
    {
      name: "lease_policy",
      value: ground.requireLease,
      note: needed ? "you need a lease to save" : "you may save without a lease",
    },
    {
      name: "identity",
      value: caller.tokenId === undefined ? "socket" : "token",
      note:
        caller.tokenId === undefined
          ? "who can open the socket could act as the owner: names on it are attribution, not authority"
          : "the token decides who you are",
    },
    { name: "merge", value: "three-way", note: "ON_CONFLICT_MERGE merges disjoint hunks; adjacent changes conflict" },
    { name: "upload", value: "disabled", note: "Upload is not part of this version: send text or data" },
    { name: "shell", value: "disabled", note: "running commands is not part of this version" },
    { name: "language_servers", value: "enabled", note: serversNote(ground, target) },
    { name: "web", value: "disabled", note: "fetching from the web is not part of this version" },
  ];
}

/** Those of the workspace spoken of, each with its state; `gin lsp status` tells more. */
function serversNote(ground: Ground, target: Target | undefined): string {
  if (target === undefined) return "name a workspace to hear which it has";
  const servers = ground.lsp.servers(ground.lsp.of(target, target.workspace));
  if (servers.length === 0) return "none is for a file of this workspace";
  return servers.map(({ server, state }) => `${server} ${state}`).join(", ");
}
