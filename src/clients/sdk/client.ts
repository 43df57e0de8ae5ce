import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { AdminService } from "../../gen/gin/v1/admin_pb.ts";
import { GinService } from "../../gen/gin/v1/service_pb.ts";
import { type CallFacts, type CallOptions, Channel, DEFAULT_TIMEOUT_MS, headersOf, lost } from "./channel.ts";
import type { ClientOptions } from "./http.ts";
import { mintRequestId } from "./ids.ts";
import { ADMIN_OPERATIONS, changesNothing, OPERATIONS, operationInfo } from "./operations.ts";
import { keepByteOrderMarks } from "./text-encoding.ts";

type Methods = { readonly [name: string]: DescMethodUnary };

/** RPCs of one answer; Watch, a stream, goes through `transport`. */
const { watch: _stream, ...UNARY } = GinService.method;

/**
 * One method an RPC, by its name in lower camel case: takes the request (a message or its initialiser), gives the response message.
 * Throws EngineError, NotSentError or UnknownOutcomeError. A mutation without a request id gets one before the first attempt.
 */
export type Unary<M> = {
  readonly [K in keyof M]: M[K] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : never;
};

/** Every RPC of one answer of GinService on protobuf messages, and those of AdminService under `admin`. */
export interface GinClient extends Unary<typeof UNARY> {
  readonly admin: Unary<(typeof AdminService)["method"]>;
  /** A Connect transport to the same daemon with the same headers, for streams; loads connect-node at its first use. */
  transport(): Promise<Transport>;
  /** Closes the connections of the unary calls. */
  close(): void;
}

/** The typed client: binary protobuf over kept-alive HTTP, half the latency of a Connect transport. */
export function createClient(options: ClientOptions): GinClient {
  keepByteOrderMarks();
  const channel = new Channel(options.target, options, options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.oneShot);
  return {
    ...unaries<typeof UNARY>(channel, UNARY),
    admin: unaries<(typeof AdminService)["method"]>(channel, AdminService.method),
    transport: () => openTransport(options),
    close: () => channel.close(),
  };
}

function unaries<M extends Methods>(channel: Channel, methods: M): Unary<M> {
  const entries = Object.entries(methods).map(([name, method]) => [name, unary(channel, method)]);
  // Object.fromEntries forgets which key has which type; each function was made from the descriptor of its own key.
  return Object.fromEntries(entries) as Unary<M>;
}

function unary<I extends DescMessage, O extends DescMessage>(channel: Channel, method: DescMethodUnary<I, O>) {
  const path = `/${method.parent.typeName}/${method.name}`;
  const requestIdField = method.input.field.requestId;
  return async (init: MessageInitShape<I>, options: CallOptions = {}): Promise<MessageShape<O>> => {
    const message = isMessage(init, method.input) ? (init as MessageShape<I>) : create(method.input, init);
    const facts = factsOf(method, message as unknown as { [field: string]: unknown }, requestIdField !== undefined);
    const body = toBinary(method.input, message);
    const answer = await channel.send(path, "application/proto", body, facts, options);
    try {
      return fromBinary(method.output, answer);
    } catch (thrown) {
      throw lost("the answer is not a message of this operation", "NOT_GIN", thrown, true, facts);
    }
  };
}

/** Mints the request id of a mutation into the message; for `Call`, into the operation it carries. */
function factsOf(method: DescMethodUnary, message: { [field: string]: unknown }, hasRequestId: boolean): CallFacts {
  const admin = method.parent.typeName === AdminService.typeName;
  if (!hasRequestId) {
    const inner = message.operation as { case?: string; value?: { [field: string]: unknown } } | undefined;
    if (inner?.case === undefined || inner.value === undefined) return { mutation: false, recorded: false, requestId: undefined };
    return identified(OPERATIONS, snakeCase(inner.case), inner.value);
  }
  return admin
    ? identified(ADMIN_OPERATIONS, method.name, message)
    : identified(OPERATIONS, snakeCase(method.localName), message);
}

function identified(table: typeof OPERATIONS, name: string, message: { [field: string]: unknown }): CallFacts {
  const info = operationInfo(table, name, changesNothing(name, message));
  if (info.mutation && message.requestId === "") message.requestId = mintRequestId();
  const requestId = message.requestId;
  return { ...info, requestId: typeof requestId === "string" && requestId !== "" ? requestId : undefined };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

async function openTransport(options: ClientOptions): Promise<Transport> {
  const { createConnectTransport } = await import("@connectrpc/connect-node");
  const headers = headersOf(options);
  const { target } = options;
  const tls = "url" in target ? target.tls : undefined;
  const { ca, cert, key } = tls ?? {};
  return createConnectTransport({
    httpVersion: "1.1",
    baseUrl: "url" in target ? target.url.href : "http://localhost",
    useBinaryFormat: true,
    nodeOptions: {
      ...("socketPath" in target && { socketPath: target.socketPath }),
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    },
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
}
