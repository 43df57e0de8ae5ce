import { Code, ConnectError, cors, createContextValues } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { type Caller, type Clock, GinError, type Log, toGinError } from "../base/index.ts";
import { bodyOf } from "./body.ts";
import { callerKey } from "./caller-key.ts";
import type { Clients } from "./clients.ts";
import { urlOf } from "./context.ts";
import { asUniversal, callDirect, type DirectCall, directForm } from "./direct.ts";
import { explain } from "./explain.ts";
import { Fields } from "./fields.ts";
import { HEALTH_PREFIX } from "./health.ts";
import { checkOrigin, type HostCheck } from "./hosts.ts";
import { JsonBody, jsonBodyKey } from "./json-body.ts";
import { destroyCarrier, type NodeServerRequest, type NodeServerResponse } from "./node.ts";
import { respond, sendWhole } from "./respond.ts";
import type { Route, Routes } from "./routes.ts";
import type { Running } from "./running.ts";
import type { Gate, ListenerLimits } from "./types.ts";
import { refusal, type Wire, wireOf } from "./wire.ts";

/** What every address shares. */
export interface HandlerOptions {
  readonly routes: Routes;
  readonly gate: Gate;
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: ListenerLimits;
  readonly running: Running;
  readonly clients: Clients;
  readonly allowOrigins: ReadonlySet<string>;
  /** Put on every answer. */
  readonly answerHeaders: Readonly<Record<string, string>>;
  draining(): boolean;
}

/** What one address adds. */
export interface Where {
  readonly transport: Caller["transport"];
  readonly hostAllowed: HostCheck;
}

/** A request that may be handed to its handler. */
interface Admitted {
  readonly caller: Caller | undefined;
  readonly fields: Fields;
  readonly path: string;
  readonly route: Route;
}

const PLAIN_ENCODINGS = ["identity", "gzip"];

/** Serves requests of both HTTP versions. `sendContinue` is called when the body is wanted and the client waits to be asked. */
export class Handler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  /** Answers one request, whatever comes; what fails beyond that is logged and ends the stream or connection. */
  handle(request: NodeServerRequest, response: NodeServerResponse, where: Where, sendContinue: () => void): void {
    const { log } = this.#options;
    const onError = (cause: unknown) => log.debug({ err: cause }, "a request broke off");
    request.on("error", onError);
    response.on("error", onError);
    if (request.destroyed) return;
    this.#serve(request, response, where, sendContinue).catch((cause: unknown) => {
      if (!(cause instanceof ConnectError)) log.error({ err: cause }, "a request could not be answered");
      destroyCarrier(request);
    });
  }

  async #serve(request: NodeServerRequest, response: NodeServerResponse, where: Where, sendContinue: () => void): Promise<void> {
    const wire = wireOf(request.headers["content-type"] ?? "");
    const admitted = this.#admit(request, where, wire);
    if ("status" in admitted) return await this.#answer(admitted, request, response);
    const { caller, route } = admitted;
    const ended = caller === undefined ? undefined : this.#options.clients.began(request, caller);
    const run = this.#options.running.start(caller, route.stream);
    response.once("close", () => {
      if (!response.writableFinished) run.abort(new ConnectError("the caller is gone", Code.Canceled));
    });
    try {
      const { unary } = route;
      const binary = wire === "connect" ? directForm(admitted.fields) : undefined;
      if (unary !== undefined && binary !== undefined) {
        const { fields, path } = admitted;
        const { limit } = route;
        const call = { request, unary, binary, fields, path, caller, run, limit, onStart: sendContinue };
        return await this.#direct(call, request, response);
      }
      const answer = await this.#call(request, admitted, wire ?? "connect", run.signal, sendContinue);
      await this.#answer(answer, request, response);
    } finally {
      run.end();
      ended?.();
    }
  }

  /** A plain Connect call, which needs none of Connect's machinery. */
  async #direct(call: DirectCall, request: NodeServerRequest, response: NodeServerResponse): Promise<void> {
    const answer = await callDirect(call, this.#options);
    if ("status" in answer) return await this.#answer(answer, request, response);
    if (this.#options.draining() || call.fields.get("origin") !== null)
      return await this.#answer(asUniversal(answer), request, response);
    const { contentType, body } = answer;
    const { answerHeaders, clock, limits } = this.#options;
    const head = { "content-length": body.byteLength, "content-type": contentType, ...answerHeaders };
    await sendWhole(head, body, request, response, { clock, stallMs: limits.stallMs });
  }

  /** Everything that is decided before a byte of the body is read: Host, Origin, verb, media type, who, and what. */
  #admit(request: NodeServerRequest, where: Where, wire: Wire | undefined): Admitted | UniversalServerResponse {
    const { limits, gate, routes, allowOrigins } = this.#options;
    const say = wire ?? "connect";
    const contentType = request.headers["content-type"];
    try {
      const fields = new Fields(request.rawHeaders);
      const tooLarge = headerListFault(fields, limits);
      if (tooLarge !== undefined) return refusal(tooLarge, say, { status: 431, contentType });
      if (!fields.valid) throw new GinError("MALFORMED", "a header field cannot be read");
      checkHost(request, fields, where.hostAllowed);
      const origin = fields.get("origin");
      checkOrigin(origin, allowOrigins);
      if (request.method === "OPTIONS" && origin !== null) return { status: 204, header: new Headers(PREFLIGHT) };
      if (request.method !== "POST")
        return refusal(new GinError("METHOD_UNKNOWN", "only POST is served"), say, { status: 405, contentType });
      if (wire === undefined) throw new GinError("MEDIA_TYPE_UNSUPPORTED", "the content type is not one that is served");
      checkEncoding(fields, wire);
      const url = request.url ?? "";
      const query = url.indexOf("?");
      const path = query === -1 ? url : url.slice(0, query);
      const remoteAddress = where.transport === "socket" ? "socket" : (request.socket.remoteAddress ?? "unknown");
      const health = path.startsWith(HEALTH_PREFIX);
      const caller = health ? undefined : gate.admit({ transport: where.transport, path, headers: fields, remoteAddress });
      if (this.#options.draining() && !health) throw new GinError("BUSY", "the daemon is draining");
      const route = routes.byPath.get(path);
      if (route === undefined) throw new GinError("METHOD_UNKNOWN", "no such service or method");
      return { caller, fields, path, route };
    } catch (thrown) {
      const error = toGinError(thrown);
      this.#options.log.debug({ reason: error.reason, transport: where.transport }, "refused");
      return refusal(error, say, { contentType });
    }
  }

  async #call(
    request: NodeServerRequest,
    { caller, fields, path, route }: Admitted,
    wire: Wire,
    signal: AbortSignal,
    sendContinue: () => void,
  ): Promise<UniversalServerResponse> {
    const { clock, limits } = this.#options;
    const { handler, limit } = route;
    const { headers } = fields;
    const contextValues = createContextValues();
    if (caller !== undefined) contextValues.set(callerKey, caller);
    const isJson = wire === "connect" && /^application\/json/i.test(headers.get("content-type") ?? "");
    const json = isJson ? new JsonBody(headers.get("content-encoding") === "gzip", limit) : undefined;
    contextValues.set(jsonBodyKey, json);
    const sendsStream = handler.method.methodKind === "bidi_streaming" || handler.method.methodKind === "client_streaming";
    const body = bodyOf(request, {
      clock,
      withinMs: sendsStream ? undefined : limits.bodyMs,
      onStart: sendContinue,
      onChunk: json === undefined ? undefined : (chunk) => json.push(chunk),
    });
    const answer = await handler({
      httpVersion: request.httpVersion,
      method: "POST",
      url: urlOf(path),
      header: headers,
      body,
      signal,
      contextValues,
    });
    return await explain(answer, {
      wire,
      contentType: headers.get("content-type") ?? undefined,
      method: handler.method,
      limit,
      json,
    });
  }

  async #answer(answer: UniversalServerResponse, request: NodeServerRequest, response: NodeServerResponse): Promise<void> {
    const { answerHeaders, clock, limits } = this.#options;
    const header = new Headers(answer.header);
    for (const [name, value] of Object.entries(answerHeaders)) header.set(name, value);
    const origin = request.headers.origin;
    if (origin !== undefined && this.#options.allowOrigins.has(origin)) {
      header.set("access-control-allow-origin", origin);
      header.set("access-control-expose-headers", EXPOSED);
      header.append("vary", "origin");
    }
    if (this.#options.draining() && request.httpVersionMajor === 1) header.set("connection", "close");
    await respond({ ...answer, header }, request, response, { clock, stallMs: limits.stallMs });
  }
}

const OWN_HEADERS = ["authorization", "gin-protocol", "gin-client", "gin-principal"];
const EXPOSED = [...cors.exposedHeaders, "gin-protocol", "gin-server"].join(", ");
const PREFLIGHT = {
  "access-control-allow-methods": "POST",
  "access-control-allow-headers": [...cors.allowedHeaders, ...OWN_HEADERS].join(", "),
  "access-control-max-age": "600",
};

/** Every name the request gives its host must be allowed; throws HOST_FORBIDDEN. */
function checkHost(request: NodeServerRequest, fields: Fields, allowed: HostCheck): void {
  const host = fields.get("host") ?? undefined;
  const authority = "stream" in request ? request.headers[":authority"] : undefined;
  if (allowed(authority ?? host) && (host === undefined || allowed(host))) return;
  throw new GinError("HOST_FORBIDDEN", "the Host of this request is not one that is served here");
}

/** Compression is refused by its name, before anything is inflated. */
function checkEncoding(fields: Fields, wire: Wire): void {
  const name = wire === "connect" ? "content-encoding" : wire === "connect-stream" ? "connect-content-encoding" : "grpc-encoding";
  const encoding = fields.get(name);
  if (encoding === null || PLAIN_ENCODINGS.includes(encoding)) return;
  throw new GinError("MEDIA_TYPE_UNSUPPORTED", "the message's compression is not served", "send it as it is, or as gzip");
}

/** Node counts neither the bytes of an HTTP/2 header list nor the fields of HTTP/1. */
function headerListFault(fields: Fields, limits: ListenerLimits): GinError | undefined {
  if (fields.pairs > limits.maxHeaderPairs) {
    const facts = { limit: limits.maxHeaderPairs, unit: "fields" };
    return new GinError("TOO_LARGE", `a request has at most ${limits.maxHeaderPairs} header fields`, undefined, { facts });
  }
  if (fields.size > limits.maxHeaderBytes) {
    const facts = { limit: limits.maxHeaderBytes, unit: "bytes" };
    return new GinError("TOO_LARGE", `the header fields are larger than ${limits.maxHeaderBytes} bytes`, undefined, { facts });
  }
  return undefined;
}
