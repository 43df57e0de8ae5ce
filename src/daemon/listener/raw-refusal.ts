import type { Duplex } from "node:stream";
import { GinError } from "../base/index.ts";
import { refusalJson } from "./wire.ts";

const TEXT: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** Answers what Node's HTTP/1 parser refuses, where there is no request to answer; then closes. */
export function refuseRaw(socket: Duplex, code: string, maxHeaderBytes: number, headers: string): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const [status, error] = judge(code, maxHeaderBytes);
  const body = refusalJson(error);
  const head = `HTTP/1.1 ${status} ${TEXT[status] ?? "Error"}\r\n${headers}content-type: application/json\r\ncontent-length: ${body.byteLength}\r\nconnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head, "latin1"), body]), () => socket.destroy());
}

function judge(code: string, maxHeaderBytes: number): [number, GinError] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW": {
      const facts = { limit: maxHeaderBytes, unit: "bytes" };
      return [431, new GinError("TOO_LARGE", `the header fields are larger than ${maxHeaderBytes} bytes`, undefined, { facts })];
    }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, new GinError("DEADLINE_EXCEEDED", "the request was not there in time", "send it whole")];
    case "CONNECT":
      return [405, new GinError("METHOD_UNKNOWN", "only POST is served")];
    default:
      return [400, new GinError("MALFORMED", "this is not an HTTP request", "send well-formed HTTP")];
  }
}
