import { connect, type Socket } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { type ErrorDetail, ErrorDetailSchema } from "../../../src/gen/gin/v1/common_pb.ts";

/** Where a raw client connects. */
export type Target = { readonly port: number } | { readonly path: string };

export function dial(target: Target): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = "port" in target ? connect(target.port, "127.0.0.1") : connect(target.path);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

/** Everything until the peer closes. */
export function drained(socket: Socket): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.once("close", () => resolve(Buffer.concat(chunks)));
  });
}

/** An HTTP/1 answer taken apart. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export function parseAnswer(bytes: Buffer): RawAnswer {
  const split = bytes.indexOf("\r\n\r\n");
  if (split < 0) throw new Error(`no HTTP answer but ${bytes.length} bytes: ${bytes.toString("latin1").slice(0, 200)}`);
  const [first = "", ...lines] = bytes.subarray(0, split).toString("latin1").split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return { status: Number(first.split(" ")[1]), headers, body: bytes.subarray(split + 4) };
}

/** Sends bytes as they are, with `connection: close` in them, and reads the answer to its end. */
export async function exchange(target: Target, ...parts: (string | Uint8Array)[]): Promise<RawAnswer> {
  const socket = await dial(target);
  const all = drained(socket);
  for (const part of parts) socket.write(part);
  return parseAnswer(await all);
}

/** A POST by hand. `headers` come after the usual ones and may be whole lines of any kind. */
export function post(path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>>): Buffer {
  const bytes = Buffer.from(body);
  const all: Record<string, string> = {
    host: "127.0.0.1",
    "content-type": "application/json",
    "content-length": String(bytes.length),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), bytes]);
}

/** The ErrorDetail in a Connect JSON body. */
export function detailOfJson(body: Uint8Array): ErrorDetail {
  const json: { details?: { type: string; value: string }[] } = JSON.parse(Buffer.from(body).toString("utf8"));
  const detail = json.details?.find((one) => one.type === ErrorDetailSchema.typeName);
  if (detail === undefined) throw new Error(`no ErrorDetail in ${Buffer.from(body).toString("utf8").slice(0, 300)}`);
  return fromBinary(ErrorDetailSchema, Buffer.from(detail.value, "base64"));
}
