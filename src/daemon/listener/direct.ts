import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  errorToJsonBytes,
  parseContentType,
  parseTimeout,
  trailerMux,
} from "@connectrpc/connect/protocol-connect";
import type { Caller, Clock, Log } from "../base/index.ts";
import { readWhole } from "./body.ts";
import { DirectContext } from "./context.ts";
import { explain } from "./explain.ts";
import type { Fields } from "./fields.ts";
import { JsonBody } from "./json-body.ts";
import type { NodeServerRequest } from "./node.ts";
import { MAX_TIMEOUT_MS } from "./routes.ts";
import type { Run } from "./running.ts";
import { checkNumbers, outgoing } from "./settle.ts";
import type { ListenerLimits } from "./types.ts";
import type { Unary } from "./unary.ts";

/** One plain Connect call, admitted. */
export interface DirectCall {
  readonly request: NodeServerRequest;
  readonly unary: Unary;
  readonly binary: boolean;
  readonly fields: Fields;
  readonly path: string;
  readonly caller: Caller | undefined;
  readonly run: Run;
  /** Bytes a message may have on this path, as refusals tell it. */
  readonly limit: number;
  /** Called before the first byte of the body is asked for. */
  readonly onStart: () => void;
}

/** What all calls share. */
export interface DirectOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<ListenerLimits, "bodyMs">;
}

/** A good answer in one piece. */
export interface Whole {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/**
 * The form of a call that the direct path may take: true for binary, false for JSON. Undefined when it is for Connect's own
 * path: compression either way, or a content type that Connect would refuse.
 */
export function directForm(fields: Fields): boolean | undefined {
  if (fields.get("content-encoding") !== null || fields.get("accept-encoding")?.includes("gzip") === true) return undefined;
  const contentType = fields.get("content-type");
  if (contentType === "application/proto") return true;
  const type = parseContentType(contentType);
  return type === undefined || type.stream ? undefined : type.binary;
}

/**
 * Connect's unary protocol without what its universal handlers are made of (a chain of abort controllers, Headers, async
 * iterables), which costs more than most reads do. In the same order and by the same functions: deadline, body, decoding,
 * numbers, handler, encoding; refusals are those of Connect's own path. One contract suite runs on both.
 */
export async function callDirect(call: DirectCall, options: DirectOptions): Promise<Whole | UniversalServerResponse> {
  const { unary, binary, fields, path, caller, run, limit } = call;
  const { clock, log, limits } = options;
  const timeout = parseTimeout(fields.get("connect-timeout-ms"), MAX_TIMEOUT_MS);
  const contentType = binary ? "application/proto" : "application/json";
  const { method } = unary;
  const context = new DirectContext({ method, caller, fields, path, contentType, run, clock, timeoutMs: timeout.timeoutMs });
  const json = binary ? undefined : new JsonBody(false, limit);
  try {
    if (timeout.error !== undefined) throw timeout.error;
    const bytes = await readWhole(call.request, {
      clock,
      withinMs: limits.bodyMs,
      onStart: call.onStart,
      length: fields.get("content-length"),
      maxBytes: unary.readMaxBytes,
    });
    json?.push(bytes);
    const message = unary.serialization.getI(binary).parse(bytes);
    const answer = await settled(unary, message, context, json, log);
    const body = unary.serialization.getO(binary).serialize(answer);
    return context.addsFields ? withFields(context, body) : { contentType, body };
  } catch (thrown) {
    const refused = refusalOf(thrown, context, unary);
    return await explain(refused, {
      wire: "connect",
      contentType: fields.get("content-type") ?? undefined,
      method,
      limit,
      json,
    });
  } finally {
    context.end();
  }
}

/** Runs the handler as the outermost interceptor of Connect's own path does. */
async function settled(unary: Unary, message: unknown, context: DirectContext, json: JsonBody | undefined, log: Log) {
  try {
    checkNumbers(json);
    return await unary.invoke(message, context);
  } catch (thrown) {
    throw outgoing(thrown, log);
  }
}

function withFields(context: DirectContext, body: Uint8Array): UniversalServerResponse {
  const header = trailerMux(context.responseHeader, context.responseTrailer);
  header.set("content-length", String(body.byteLength));
  return { status: 200, header, body: createAsyncIterable([body]) };
}

function refusalOf(thrown: unknown, context: DirectContext, unary: Unary): UniversalServerResponse {
  const error =
    thrown instanceof ConnectError ? thrown : new ConnectError("internal error", Code.Internal, undefined, undefined, thrown);
  context.responseHeader.set("content-type", "application/json");
  error.metadata.forEach((value, name) => {
    context.responseHeader.set(name, value);
  });
  return { ...withFields(context, errorToJsonBytes(error, unary.jsonOptions)), status: codeToHttpStatus(error.code) };
}

/** A good answer as everything else is written: where it needs fields that only some answers have. */
export function asUniversal({ contentType, body }: Whole): UniversalServerResponse {
  const header = new Headers({ "content-type": contentType, "content-length": String(body.byteLength) });
  return { status: 200, header, body: createAsyncIterable([body]) };
}
