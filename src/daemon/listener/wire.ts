import { createAsyncIterable, encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, endStreamFlag, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { type GinError, REASONS, type Reason } from "../base/index.ts";
import { toConnectError } from "./error-detail.ts";

/** How a request's content type says errors travel. */
export type Wire = "connect" | "connect-stream" | "grpc" | "grpc-web";

/** What a refusal takes over from the request, and its HTTP status on the plain Connect wire where that says more. */
export interface RefusalOptions {
  readonly status?: number;
  /** Streams are answered in the content type they came in; clients insist on it. */
  readonly contentType?: string | undefined;
}

/** JSON goes out in the contract's names, with empty fields, and comes in without unknown ones. */
export const JSON_OPTIONS = { ignoreUnknownFields: false, useProtoFieldName: true, alwaysEmitImplicit: true } as const;

const CONTENT_TYPE =
  /^application\/(?:(grpc-web)(?:\+(?:proto|json))?|(grpc)(?:\+(?:proto|json))?|(connect)\+(?:proto|json)|proto|json)(?:; ?charset=utf-?8)?$/i;

/** The wire of a content type; undefined for those that are not served. */
export function wireOf(contentType: string): Wire | undefined {
  const match = CONTENT_TYPE.exec(contentType);
  if (match === null) return undefined;
  if (match[1] !== undefined) return "grpc-web";
  if (match[2] !== undefined) return "grpc";
  return match[3] === undefined ? "connect" : "connect-stream";
}

/** HTTP statuses that say more than the one of the reason's code. */
const STATUS: Partial<Record<Reason, number>> = { MEDIA_TYPE_UNSUPPORTED: 415, METHOD_UNKNOWN: 404 };

/** HTTP status of a refusal in plain Connect. */
export function statusOf(reason: Reason): number {
  return STATUS[reason] ?? codeToHttpStatus(REASONS[reason].code);
}

/** A refusal's JSON: what Connect clients read, and what everybody else is shown. */
export function refusalJson(error: GinError): Uint8Array {
  return errorToJsonBytes(toConnectError(error), JSON_OPTIONS);
}

/** A whole answer that refuses, with its ErrorDetail, as the wire wants it. */
export function refusal(error: GinError, wire: Wire, options: RefusalOptions = {}): UniversalServerResponse {
  const status = options.status ?? statusOf(error.reason);
  const contentType = options.contentType;
  switch (wire) {
    case "connect": {
      const body = refusalJson(error);
      const header = new Headers({ "content-type": "application/json", "content-length": String(body.byteLength) });
      if (status === 401) header.set("www-authenticate", "Bearer");
      if (status === 405) header.set("allow", "POST");
      return { status, header, body: createAsyncIterable([body]) };
    }
    case "connect-stream":
      return {
        status: 200,
        header: new Headers({ "content-type": contentType ?? "application/connect+json" }),
        body: createAsyncIterable([endOfStream(error)]),
      };
    case "grpc":
      return {
        status: 200,
        header: new Headers({ "content-type": contentType ?? "application/grpc+proto" }),
        body: createAsyncIterable([]),
        trailer: grpcTrailer(error, new Headers()),
      };
    case "grpc-web":
      return {
        status: 200,
        header: new Headers({ "content-type": contentType ?? "application/grpc-web+proto" }),
        body: createAsyncIterable([webTrailer(error, new Headers())]),
      };
  }
}

/** Puts the error's status and details into gRPC trailers, over what is there. */
export function grpcTrailer(error: GinError, trailer: Headers): Headers {
  setTrailerStatus(trailer, toConnectError(error));
  return trailer;
}

/** The last envelope of a gRPC-Web answer. */
export function webTrailer(error: GinError, trailer: Headers): Uint8Array {
  return encodeEnvelope(trailerFlag, trailerSerialize(grpcTrailer(error, trailer)));
}

/** The last envelope of a Connect stream. */
export function endOfStream(error: GinError): Uint8Array {
  const json = endStreamToJson(new Headers(), toConnectError(error), JSON_OPTIONS);
  return encodeEnvelope(endStreamFlag, Buffer.from(JSON.stringify(json)));
}
