import { create, type DescMessage, type DescMethodUnary, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, MethodImplSpec } from "@connectrpc/connect";
import {
  createMethodSerializationLookup,
  type MethodSerializationLookup,
  type UniversalHandlerOptions,
  validateReadWriteMaxBytes,
} from "@connectrpc/connect/protocol";
import { encode } from "./encode.ts";

/** A method of one message each way, as it was registered, without what Connect's own path wraps around it. */
export interface Unary {
  readonly method: DescMethodUnary;
  /** Decodes and encodes both forms exactly as Connect does, by the same functions with the registration's options; binary answers in less time. */
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
  const serialization = createMethodSerializationLookup(method, binaryOptions, jsonOptions, limits);
  return {
    method,
    serialization: binaryOptions === undefined ? faster(method, serialization, limits.writeMaxBytes) : serialization,
    readMaxBytes: limits.readMaxBytes,
    jsonOptions,
    // The message was decoded as the method's input: the registration pairs the two.
    invoke: async (request, context) =>
      create(method.output, (await impl(request as never, context)) as MessageInitShape<DescMessage>),
  };
}

function faster(method: DescMethodUnary, plain: Unary["serialization"], writeMaxBytes: number): Unary["serialization"] {
  const { parse, serialize } = plain.getO(true);
  const binary: ReturnType<typeof plain.getO> = {
    parse,
    serialize(message) {
      const bytes = encode(method.output, message);
      // What is refused, Connect refuses in its own words.
      return bytes === undefined || bytes.byteLength > writeMaxBytes ? serialize(message) : bytes;
    },
  };
  return { getI: (isBinary) => plain.getI(isBinary), getO: (isBinary) => (isBinary ? binary : plain.getO(false)) };
}
