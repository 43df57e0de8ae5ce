import { create, type DescMessage, type DescMethodUnary, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, MethodImplSpec } from "@connectrpc/connect";
import {
  createMethodSerializationLookup,
  type MethodSerializationLookup,
  type UniversalHandlerOptions,
  validateReadWriteMaxBytes,
} from "@connectrpc/connect/protocol";

/** A method of one message each way, as it was registered, without what Connect's own path wraps around it. */
export interface Unary {
  readonly method: DescMethodUnary;
  /** Decodes and encodes both forms exactly as Connect does: the same functions with the registration's options. */
  readonly serialization: MethodSerializationLookup<DescMessage, DescMessage>;
  /** Bytes of one message. */
  readonly readMaxBytes: number;
  readonly jsonOptions: UniversalHandlerOptions["jsonOptions"];
  /** Calls the implementation; gives a whole message of the method's output. */
  invoke(request: unknown, context: HandlerContext): Promise<Message>;
}

/** Options whose meaning is known here. A registration with any other is served by Connect alone. */
const KNOWN: ReadonlySet<string> = new Set([
  "jsonOptions",
  "binaryOptions",
  "readMaxBytes",
  "writeMaxBytes",
  "compressMinBytes",
  "interceptors",
]);

/** The unary method behind a registration; undefined when it is none, or asks Connect for more than decoding and encoding. */
export function unaryOf(spec: MethodImplSpec, options: Partial<UniversalHandlerOptions>): Unary | undefined {
  if (spec.kind !== "unary" || Object.keys(options).some((name) => !KNOWN.has(name))) return undefined;
  if (options.interceptors !== undefined && options.interceptors.length > 0) return undefined;
  const { method, impl } = spec;
  const { binaryOptions, jsonOptions } = options;
  const limits = validateReadWriteMaxBytes(options.readMaxBytes, options.writeMaxBytes, options.compressMinBytes);
  return {
    method,
    serialization: createMethodSerializationLookup(method, binaryOptions, jsonOptions, limits),
    readMaxBytes: limits.readMaxBytes,
    jsonOptions,
    // The message was decoded as the method's input: the registration pairs the two.
    invoke: async (request, context) =>
      create(method.output, (await impl(request as never, context)) as MessageInitShape<DescMessage>),
  };
}
