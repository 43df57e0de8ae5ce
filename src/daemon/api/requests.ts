import { createHash } from "node:crypto";
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "../../gen/gin/v1/common_pb.ts";
import { type Clock, GinError, type Log, toGinError } from "../base/index.ts";
import type { RequestRow, Store } from "../store/index.ts";
import { waitOr } from "./deadline.ts";
import { toErrorDetail } from "./errors.ts";
import { invalid, LIMITS } from "./limits.ts";

const REQUEST_ID = /^[A-Za-z0-9._:-]+$/;

/** Throws INVALID_REQUEST unless the id is "" or 1 to 128 of A-Za-z0-9._:- */
export function checkRequestId(id: string, field = "request_id"): void {
  if (id === "") return;
  if (id.length > LIMITS.request_id_characters.value || !REQUEST_ID.test(id)) {
    throw new GinError("INVALID_REQUEST", `${field} must be 1 to 128 of A-Z a-z 0-9 . _ : -`, undefined, {
      facts: { field, limit: LIMITS.request_id_characters.value },
    });
  }
}

/** Fields that say how a request is to be carried out, not what it asks: a retry may change them. */
const HOW: readonly string[] = ["requestId", "epoch", "leaseIncarnation", "leaseEpoch", "onConflict", "waitMs"];

/**
 * Digest of what a request asks: its operation and deterministic encoding, with the workspace named by its ids. Requests hold
 * no unknown fields, and the keys of their objects are put in order, so equal requests have equal encodings.
 */
export function digestOf(
  schema: DescMessage,
  operation: string,
  request: Message,
  ids: { readonly repository: string; readonly workspace: string },
): string {
  const blank = create(schema) as unknown as Record<string, unknown>;
  const plain: Record<string, unknown> = { ...request, ...ids };
  for (const name of HOW) if (schema.field[name] !== undefined) plain[name] = blank[name];
  for (const field of schema.fields) {
    if (field.message?.typeName === StructSchema.typeName) plain[field.localName] = inOrder(plain[field.localName]);
  }
  return createHash("sha256")
    .update(`${operation}\n`)
    .update(toBinary(schema, plain as unknown as Message))
    .digest("hex");
}

/** JSON with the keys of its objects in order: who writes a call again may write them in any. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, inOrder(one)]));
}

/** One recorded request. */
export interface RequestEntry {
  /** Row id of the workspace, or 0 for the host. */
  readonly scope: number;
  readonly principal: string;
  readonly id: string;
  /** RPC name. */
  readonly operation: string;
  readonly digest: string;
  /** Schema of its response. */
  readonly response: DescMessage;
}

/** The answer to a recorded request, and whether it was given before. */
export interface Outcome {
  readonly response: Message;
  readonly replayed: boolean;
}

/**
 * Makes a request id run at most once: replays what is stored, lets a second call of the same id join the first, and
 * remembers refusals. States of one id: none → running → committed | rejected; rejected → running again; committed is final.
 */
export class RunningRequests {
  readonly #store: Pick<Store, "write"> & { readonly read: Pick<Store["read"], "request"> };
  readonly #clock: Clock;
  readonly #log: Log;
  /** Ids that run now. Guarded by the single thread: looked at and set in one tick. */
  readonly #running = new Map<string, { readonly digest: string; readonly operation: string; readonly done: Promise<unknown> }>();

  constructor(store: Pick<Store, "write"> & { readonly read: Pick<Store["read"], "request"> }, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** The operation that runs under an id now, if one does. */
  running(scope: number, principal: string, id: string): string | undefined {
    return this.#running.get(keyOf({ scope, principal, id }))?.operation;
  }

  /**
   * Runs `start` under the request's id, or gives the answer it had. `start` must write the row of `entry` in the
   * transaction of its effect. Throws REQUEST_ID_REUSED, REQUEST_IN_PROGRESS, or what `start` throws.
   */
  async run(entry: RequestEntry, signal: AbortSignal, start: () => Promise<Message>): Promise<Outcome> {
    const key = keyOf(entry);
    for (;;) {
      const running = this.#running.get(key);
      if (running === undefined) break;
      if (running.digest !== entry.digest) throw reused(running.operation);
      // Joined: wait for its end, then look again. A refusal is judged anew, for this call may carry what the first lacked.
      const ended = await waitOr(running.done, signal, this.#clock, 0);
      if (!ended) {
        throw new GinError("REQUEST_IN_PROGRESS", "the same request is still running", undefined, { retryAfterMs: 1_000 });
      }
    }
    const stored = this.#stored(entry);
    if (stored !== undefined) return stored;
    const done = this.#start(entry, start);
    this.#running.set(key, {
      digest: entry.digest,
      operation: entry.operation,
      // The second handler keeps a refusal from counting as unhandled: whoever started it gets it from `done`.
      done: done.then(
        () => this.#running.delete(key),
        () => this.#running.delete(key),
      ),
    });
    return { response: await done, replayed: false };
  }

  async #start(entry: RequestEntry, start: () => Promise<Message>): Promise<Message> {
    try {
      return await start();
    } catch (thrown) {
      // What was committed is never reported as a failure, whatever broke afterwards.
      const committed = this.#stored(entry);
      if (committed !== undefined) {
        this.#log.error({ err: thrown, operation: entry.operation, request: entry.id }, "failed after it was committed");
        return committed.response;
      }
      const error = toGinError(thrown);
      await this.#refused(entry, error);
      throw error === thrown ? error : thrown;
    }
  }

  #stored(entry: RequestEntry): Outcome | undefined {
    const row = this.#store.read.request(entry.scope, entry.principal, entry.id);
    if (row === undefined) return undefined;
    if (row.digest !== entry.digest) throw reused(row.operation);
    return row.outcome === "committed" ? { response: fromBinary(entry.response, row.answer), replayed: true } : undefined;
  }

  async #refused(entry: RequestEntry, error: GinError): Promise<void> {
    // Facts may hold whole texts; the outcome needs the reason and what to do.
    const detail = { ...toErrorDetail(error) };
    if (toBinary(ErrorDetailSchema, detail).byteLength > LIMITS.answer_kept_bytes.value) delete detail.facts;
    const row: RequestRow = {
      scope: entry.scope,
      principal: entry.principal,
      id: entry.id,
      operation: entry.operation,
      digest: entry.digest,
      outcome: "rejected",
      answer: toBinary(ErrorDetailSchema, detail),
      timeMs: this.#clock.wallMs(),
    };
    try {
      await this.#store.write("refusal", row);
    } catch (cause) {
      // The refusal stands either way: an unrecorded one reads as NOT_FOUND, which also says that nothing happened.
      this.#log.warn({ err: cause, operation: entry.operation, request: entry.id }, "a refusal was not recorded");
    }
  }

  /** The outcome row of a committed request. */
  row(entry: RequestEntry, response: Message): RequestRow {
    return {
      scope: entry.scope,
      principal: entry.principal,
      id: entry.id,
      operation: entry.operation,
      digest: entry.digest,
      outcome: "committed",
      answer: toBinary(entry.response, response),
      timeMs: this.#clock.wallMs(),
    };
  }
}

function keyOf(entry: { readonly scope: number; readonly principal: string; readonly id: string }): string {
  return `${entry.scope}\n${entry.principal}\n${entry.id}`;
}

function reused(operation: string): GinError {
  return new GinError("REQUEST_ID_REUSED", "this request_id was used for something else", undefined, { facts: { operation } });
}

/** Throws REQUEST_ID_REQUIRED for "". */
export function requireRequestId(id: string): void {
  if (id === "") throw new GinError("REQUEST_ID_REQUIRED", "this operation changes something: it needs a request_id");
  checkRequestId(id);
}

/** For targets of RequestOutcome and the like: an id that must be there. */
export function needRequestId(id: string, field: string): void {
  if (id === "") throw invalid(field, "must name a request");
  checkRequestId(id, field);
}
