import type { Caller } from "../base/index.ts";
import type { RequestRow, Store } from "../store/index.ts";
import type { Workspace, State as WorkspaceState } from "../workspace/index.ts";
import type { Cursors } from "./cursors.ts";
import type { OperationKey, RequestOf, ResponseOf } from "./operations.ts";
import type { RunningRequests } from "./requests.ts";
import type { ApiDeps, Hosted } from "./types.ts";

/** A hosted workspace whose actor runs. */
export interface Target extends Hosted {
  readonly workspace: Workspace;
}

/** What a handler knows beside its request: all of it found out, none of it taken from the request. */
export interface Invocation<K extends OperationKey = OperationKey> {
  readonly caller: Caller;
  /** The open workspace spoken of. Operations on "any" and "host" find it undefined, "optional" ones may. */
  readonly target: Target | undefined;
  /** The workspace of an "any" operation, open or closed. */
  readonly hosted: Hosted | undefined;
  /** Aborted when the caller gives up or the deadline passes. */
  readonly signal: AbortSignal;
  /** The outcome row of a recorded operation. `kept` is stored instead of the answer when that is too long. */
  readonly remember: (response: ResponseOf<K>, kept?: ResponseOf<K>) => RequestRow;
}

/** One operation. What it throws becomes the refusal. */
export type Handler<K extends OperationKey> = (
  request: RequestOf<K>,
  call: Invocation<K>,
) => Promise<ResponseOf<K>> | ResponseOf<K>;

/** Every operation's handler. */
export type Handlers = { readonly [K in OperationKey]: Handler<K> };

/** What handlers stand on. */
export interface Ground extends ApiDeps {
  readonly cursors: Cursors;
  readonly requests: RunningRequests;
  readonly reader: Store["read"];
}

/** The state of a workspace in the contract's form. */
export function stateOf(state: WorkspaceState): {
  readonly incarnation: string;
  readonly generation: bigint;
  readonly epoch: bigint;
  readonly head: string;
} {
  return {
    incarnation: state.incarnation,
    generation: BigInt(state.generation),
    epoch: BigInt(state.epoch),
    head: state.head,
  };
}

/** The target of an operation whose table row is "open": the pipeline saw to it that there is one. */
export function targetOf(call: Pick<Invocation, "target">): Target {
  if (call.target === undefined) throw new Error("an operation on an open workspace ran without one");
  return call.target;
}

/** `{ state }` of the target, or nothing when no workspace was spoken of. */
export function stateIn(call: Pick<Invocation, "target">): { readonly state?: ReturnType<typeof stateOf> } {
  return call.target === undefined ? {} : { state: stateOf(call.target.workspace.state()) };
}
