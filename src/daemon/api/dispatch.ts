import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import type { WorkspaceInfo } from "../../gen/gin/v1/admin_pb.ts";
import { type Caller, GinError, toGinError } from "../base/index.ts";
import { requireScope } from "../policy/index.ts";
import { within } from "./deadline.ts";
import { visibleRefusal } from "./handlers/lease.ts";
import type { Ground, Handler, Handlers, Invocation } from "./invocation.ts";
import { stateIn } from "./invocation.ts";
import { methodOf, nameOf, OPERATIONS, type OperationKey, type RequestOf, type ResponseOf } from "./operations.ts";
import { checkRequestId, digestOf, type RequestEntry, requireRequestId } from "./requests.ts";
import { resolve } from "./resolve.ts";
import type { Hosted } from "./types.ts";
import { refuseUnknown } from "./unknown.ts";

/** What every request message carries. */
interface Addressed {
  readonly repository: string;
  readonly workspace: string;
  readonly requestId: string;
  /** Those that have one of these change nothing when it is set, and are not recorded. */
  readonly dryRun?: boolean;
  readonly preview?: boolean;
}

/** Where a request came from. */
export interface Origin {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Where single operations differ from all others. */
export interface Ways {
  /** Brings a replayed answer up to date: remaining times. State is done for all. */
  refresh(key: OperationKey, response: Message): void;
  /** Whether this request of a recorded operation changes something at all; one that does not is a read. */
  changes(key: OperationKey, request: Message): boolean;
  /** The answer that says a refusal, where the operation has one; else it is thrown. */
  refusal(key: OperationKey, request: Message, error: GinError): Message | undefined;
}

/**
 * The one pipeline between an admitted caller and the handlers, for typed RPCs and Call alike: unknown fields, address,
 * request id, scope, handler, deadline. Everything it throws is a GinError.
 */
export class Dispatcher {
  readonly #ground: Ground;
  readonly #handlers: Handlers;
  readonly #ways: Ways;
  #running = 0;

  constructor(ground: Ground, handlers: Handlers, ways: Ways) {
    this.#ground = ground;
    this.#handlers = handlers;
    this.#ways = ways;
  }

  /** Requests between their start and their answer. */
  get running(): number {
    return this.#running;
  }

  /** Runs one operation. `checked`: the caller already looked for unknown fields (Call does, over its whole message). */
  async run<K extends OperationKey>(key: K, request: RequestOf<K>, origin: Origin, checked = false): Promise<ResponseOf<K>> {
    const { log, clock } = this.#ground;
    const from = clock.monotonicMs();
    this.#running += 1;
    // Until then what is wrong is the message or who sent it: no operation's own answer tells of that.
    let admitted = false;
    try {
      if (origin.caller.principal === "") throw new GinError("UNAUTHENTICATED", "nobody was admitted under this call");
      if (!checked) refuseUnknown(methodOf(key).input, request);
      admitted = true;
      const response = await this.#run(key, request, origin);
      log.debug({ ...whose(key, request, origin.caller), ms: clock.monotonicMs() - from }, "answered");
      return response;
    } catch (thrown) {
      const error = toGinError(thrown);
      const facts = { ...whose(key, request, origin.caller), ms: clock.monotonicMs() - from };
      if (error.reason === "INTERNAL") log.error({ ...facts, err: error.cause ?? error }, "a request failed inside gin");
      else log.debug({ ...facts, reason: error.reason }, "refused");
      const answer = admitted ? this.#ways.refusal(key, request, error) : undefined;
      if (answer === undefined) throw error;
      return answer as ResponseOf<K>;
    } finally {
      this.#running -= 1;
    }
  }

  async #run<K extends OperationKey>(key: K, request: RequestOf<K>, origin: Origin): Promise<ResponseOf<K>> {
    const { caller, signal } = origin;
    const { clock } = this.#ground;
    const operation = OPERATIONS[key];
    const addressed: Addressed = request;
    const trial = addressed.dryRun === true || addressed.preview === true;
    const recorded = operation.recorded && !trial && this.#ways.changes(key, request);
    if (recorded) requireRequestId(addressed.requestId);
    else checkRequestId(addressed.requestId);
    const found = this.#find(key, addressed, caller);
    const handler = shownTo(caller, this.#handlers[key]);
    if (!recorded) {
      requireScope(caller, operation.action);
      const call: Invocation<K> = { caller, ...found, signal, remember: notRecorded };
      const answer = handler(request, call);
      // Most reads are answered in the same tick or the next: no timer or listener for those without a promise.
      return answer instanceof Promise ? await within(answer, signal, clock) : answer;
    }
    const entry = this.#entry(key, request, addressed, caller, found);
    const outcome = within(
      this.#ground.requests.run(entry, signal, async () => {
        requireScope(caller, operation.action);
        if (signal.aborted) throw new GinError("CANCELLED", "the caller gave up before it started");
        const remember = (response: ResponseOf<K>, kept?: ResponseOf<K>) => this.#ground.requests.row(entry, kept ?? response);
        return handler(request, { caller, ...found, signal, remember });
      }),
      signal,
      clock,
    );
    const { response, replayed } = await outcome;
    return replayed ? this.#replayed(key, response as ResponseOf<K>, found) : (response as ResponseOf<K>);
  }

  #find(key: OperationKey, addressed: Addressed, caller: Caller): Pick<Invocation, "target" | "hosted"> {
    const { host, reader } = this.#ground;
    const { repository, workspace, requestId } = addressed;
    const need = OPERATIONS[key].target;
    try {
      return resolve(host.workspaces(), caller, need, repository, workspace);
    } catch (thrown) {
      // The workspace may be gone because of this very request: then its outcome names it.
      const row = need === "any" ? reader.request(0, caller.principal, requestId) : undefined;
      const hosted = row?.outcome === "committed" && row.operation === nameOf(key) ? namedIn(key, row.answer) : undefined;
      const fits =
        (workspace === "" || workspace === hosted?.id || workspace === hosted?.name) &&
        (repository === "" || repository === hosted?.repository || repository === hosted?.repositoryName);
      if (hosted === undefined || !fits) throw thrown;
      return { target: undefined, hosted };
    }
  }

  #entry(
    key: OperationKey,
    request: Message,
    addressed: Addressed,
    caller: Caller,
    found: Pick<Invocation, "target" | "hosted">,
  ): RequestEntry {
    const operation = nameOf(key);
    const method = methodOf(key);
    const input: DescMessage = method.input;
    const ids = { repository: found.hosted?.repository ?? "", workspace: found.hosted?.id ?? "" };
    // A workspace may be gone after the operation: only those on an open one are kept under it.
    const scope = OPERATIONS[key].target === "open" ? (found.target?.rowid ?? 0) : 0;
    const addressing = OPERATIONS[key].target === "host" ? addressed : ids;
    const digest = digestOf(input, operation, request, {
      repository: addressing.repository,
      workspace: addressing.workspace,
    });
    return { scope, principal: caller.principal, id: addressed.requestId, operation, digest, response: method.output };
  }

  #replayed<K extends OperationKey>(key: K, response: ResponseOf<K>, found: Pick<Invocation, "target">): ResponseOf<K> {
    this.#ways.refresh(key, response);
    const { state } = stateIn(found);
    return { ...response, replayed: true, ...(state === undefined ? {} : { state: { $typeName: "gin.v1.State", ...state } }) };
  }
}

/** A handler whose refusals tell a caller that is bound to paths nothing of others; also where they are kept. */
function shownTo<K extends OperationKey>(caller: Caller, handler: Handler<K>): Handler<K> {
  if (caller.paths === undefined) return handler;
  return async (request, call) => {
    try {
      return await handler(request, call);
    } catch (thrown) {
      throw visibleRefusal(caller, thrown);
    }
  };
}

/** The workspace an admin operation's stored answer speaks of. */
function namedIn(key: OperationKey, answer: Uint8Array): Hosted | undefined {
  const { info } = fromBinary(methodOf(key).output, answer) as unknown as { readonly info?: WorkspaceInfo };
  if (info === undefined) return undefined;
  const { id, name, repository, repositoryName, root, trusted } = info;
  return { rowid: 0, id, name, repository, repositoryName, root, trusted, workspace: undefined };
}

/** What every line about a request says: never what is in it. */
function whose(key: OperationKey, request: Addressed, { principal, client, transport }: Caller): object {
  return { operation: nameOf(key), request: request.requestId.slice(0, 128), principal, client, transport };
}

function notRecorded(): never {
  throw new Error("an operation that is not recorded asked for its outcome row");
}
