import { gunzipSync } from "node:zlib";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { ErrorDetailSchema } from "../../gen/gin/v1/common_pb.ts";
import { GinError } from "../base/index.ts";
import { ginErrorOf } from "./fault.ts";
import type { JsonBody } from "./json-body.ts";
import { endOfStream, grpcTrailer, refusal, type Wire, webTrailer } from "./wire.ts";

/** What an explanation may look at. */
export interface Explained {
  readonly wire: Wire;
  /** Of the request. */
  readonly contentType: string | undefined;
  readonly method: DescMethod;
  /** Bytes a message may have on this path. */
  readonly limit: number;
  readonly json: JsonBody | undefined;
}

/**
 * Adds the ErrorDetail to answers that connect-node refuses with by itself; others pass through. Errors that our own
 * handlers raised carry theirs already.
 */
export async function explain(answer: UniversalServerResponse, about: Explained): Promise<UniversalServerResponse> {
  switch (answer.body === undefined ? "none" : about.wire) {
    case "none":
      return refusal(bodiless(answer.status), about.wire, { status: answer.status, contentType: about.contentType });
    case "connect":
      return answer.status === 200 ? answer : await explainConnect(answer, about);
    case "connect-stream":
      return { ...answer, body: mapLast(answer, endStreamFlag, (data) => explainEnd(data, about)) };
    case "grpc":
      return { ...answer, body: explainTrailer(answer, about) };
    case "grpc-web":
      return { ...answer, body: mapLast(answer, trailerFlag, (data) => explainWeb(data, about)) };
  }
}

/** connect-node answers these by status alone; the content type and the verb were checked before. */
function bodiless(status: number): GinError {
  if (status === 505) return new GinError("UNSUPPORTED", "a bidirectional stream needs HTTP/2", "call over HTTP/2");
  if (status === 415) {
    return new GinError(
      "MEDIA_TYPE_UNSUPPORTED",
      "this content type is not for this method",
      "streams take application/connect+json",
    );
  }
  return new GinError("METHOD_UNKNOWN", "this method is not served");
}

async function explainConnect(answer: UniversalServerResponse, about: Explained): Promise<UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body ?? []) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const plain = answer.header?.get("content-encoding") === "gzip" ? gunzipSync(bytes) : bytes;
  const error = errorFromJsonBytes(plain, undefined, new ConnectError("", Code.Internal));
  const ours = missingDetail(error, about);
  if (ours !== undefined) return refusal(ours, "connect");
  return { ...answer, body: once(bytes) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* explainTrailer(answer: UniversalServerResponse, about: Explained): AsyncGenerator<Uint8Array> {
  if (answer.body !== undefined) yield* answer.body;
  const trailer = answer.trailer;
  const error = trailer === undefined ? undefined : findTrailerError(trailer);
  const ours = error === undefined ? undefined : missingDetail(error, about);
  if (ours !== undefined && trailer !== undefined) grpcTrailer(ours, trailer);
}

function explainWeb(data: Uint8Array, about: Explained): Uint8Array | undefined {
  const trailer = trailerParse(data);
  const error = findTrailerError(trailer);
  const ours = error === undefined ? undefined : missingDetail(error, about);
  return ours === undefined ? undefined : webTrailer(ours, trailer);
}

function explainEnd(data: Uint8Array, about: Explained): Uint8Array | undefined {
  const { error } = endStreamFromJson(data);
  const ours = error === undefined ? undefined : missingDetail(error, about);
  return ours === undefined ? undefined : endOfStream(ours);
}

/** Replaces the envelope that bears `flag`. connect-node yields one whole envelope at a time. */
async function* mapLast(
  answer: UniversalServerResponse,
  flag: number,
  replace: (data: Uint8Array) => Uint8Array | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const envelope of answer.body ?? []) {
    const flags = envelope[0] ?? 0;
    if ((flags & flag) === 0) {
      yield envelope;
    } else {
      const data = envelope.subarray(5);
      yield replace((flags & 1) === 1 ? gunzipSync(data) : data) ?? envelope;
    }
  }
}

/** The GinError an error should have travelled as; undefined when it carries an ErrorDetail. */
function missingDetail(error: ConnectError, about: Explained): GinError | undefined {
  if (error.details.some((detail) => "type" in detail && detail.type === ErrorDetailSchema.typeName)) return undefined;
  const field = error.code === Code.InvalidArgument ? about.json?.badField(about.method.input) : undefined;
  return ginErrorOf({ code: error.code, message: error.rawMessage, limit: about.limit, field });
}
