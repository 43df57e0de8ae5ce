import { Code } from "@connectrpc/connect";
import { GinError } from "../base/index.ts";

/** What connect-node says of an error it made by itself, and what is known around it. */
export interface Fault {
  readonly code: Code;
  /** Its own words: matched, never sent on, since they may quote the request. */
  readonly message: string;
  /** Bytes a message may have on this path. */
  readonly limit: number;
  /** Path of the field that did not decode, when it was found. */
  readonly field: string | undefined;
}

/** Messages of connect-node that mean the bytes are not a message. */
const MALFORMED =
  /^(parse binary|protocol error|decompression failed|received compressed envelope|invalid envelope|unexpected end flag)/;
const TIMEOUT = /(invalid (connect|grpc) timeout|^timeout \d+ms must be)/;

/** The GinError for an error that connect-node made by itself (decode, size, compression, unimplemented method). */
export function ginErrorOf(fault: Fault): GinError {
  const { code, message, limit } = fault;
  if (code === Code.ResourceExhausted) {
    return new GinError("TOO_LARGE", `a message here is at most ${limit} bytes`, undefined, { facts: { limit, unit: "bytes" } });
  }
  if (message.startsWith("unknown compression")) {
    return new GinError("MEDIA_TYPE_UNSUPPORTED", "the message's compression is not served", "send it as it is, or as gzip");
  }
  if (TIMEOUT.test(message)) return invalid("timeout", "the timeout header cannot be read");
  if (MALFORMED.test(message)) return malformed();
  const decode = /cannot decode (?:field |message |enum )?([A-Za-z0-9_.]{1,200}) from JSON/.exec(message);
  if (code === Code.InvalidArgument && decode !== null) {
    const key = /: key "([A-Za-z0-9_$.-]{1,64})" is unknown$/.exec(message);
    const field = fault.field ?? key?.[1] ?? decode[1] ?? "";
    // The message as a whole, and none of its fields: not JSON, or no object.
    if (fault.field === undefined && key === null && message.includes("cannot decode message")) return malformed();
    const what = / is unknown$/.test(message) ? "is not known" : "has a value that cannot be taken";
    return invalid(field, `field ${field} ${what}`);
  }
  switch (code) {
    case Code.InvalidArgument:
      return malformed();
    case Code.Unimplemented:
      return new GinError("METHOD_UNKNOWN", "this method is not served");
    case Code.DeadlineExceeded:
      return new GinError("DEADLINE_EXCEEDED", "the request was not there, or not done, in time");
    case Code.Canceled:
    case Code.Aborted:
      return new GinError("CANCELLED", "the caller ended the request");
    default:
      return new GinError("INTERNAL", "something went wrong inside gin");
  }
}

function malformed(): GinError {
  return new GinError("MALFORMED", "the message cannot be decoded");
}

function invalid(field: string, message: string): GinError {
  return new GinError("INVALID_REQUEST", message, undefined, { facts: { field } });
}
