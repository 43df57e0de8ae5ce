import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

/** One POST as the fake saw it. */
export interface Seen {
  /** "/gin.v1.GinService/Call". */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body, when it is JSON. */
  readonly json: JsonObject;
  /** The connection it came on: 0 is the first. */
  readonly connection: number;
}

/** What the fake does with a POST: answers JSON or bytes, breaks the connection, or never answers. */
export type Reply =
  | { readonly json: unknown; readonly status?: number; readonly type?: string }
  | { readonly bytes: Uint8Array; readonly type: string }
  | "break"
  | "hang";

/** A server on a Unix socket that speaks what a daemon speaks. */
export interface FakeDaemon {
  readonly socketPath: string;
  /** Every POST so far. */
  readonly seen: Seen[];
  /** Stops listening and breaks every connection. */
  stop(): Promise<void>;
}

/** Starts one; `reply` decides each answer. `server` is its `gin-server`. */
export async function fakeDaemon(
  reply: (seen: Seen) => Reply,
  options: { readonly server?: string; readonly socketPath?: string } = {},
): Promise<FakeDaemon> {
  const socketPath = options.socketPath ?? join(tempDir("fake"), "d.sock");
  const seen: Seen[] = [];
  const sockets: Socket[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const isJson = request.headers["content-type"] === "application/json";
      const one: Seen = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        json: isJson ? (JSON.parse(body.toString("utf8")) as JsonObject) : {},
        connection: sockets.indexOf(request.socket),
      };
      seen.push(one);
      answer(response, reply(one), options.server ?? "gin/0.1.0");
    });
  });
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  atTeardown(stop);
  return { socketPath, seen, stop };
}

function answer(response: ServerResponse, reply: Reply, server: string): void {
  if (reply === "hang") return;
  if (reply === "break") {
    response.socket?.destroy();
    return;
  }
  const body = "bytes" in reply ? reply.bytes : JSON.stringify(reply.json);
  const type = reply.type ?? "application/json";
  response.writeHead("status" in reply ? (reply.status ?? 200) : 200, {
    "content-type": type,
    "gin-server": server,
    "gin-protocol": "1",
  });
  response.end(body);
}

/** A Connect error that carries an ErrorDetail in its debug form. */
export function refusal(reason: string, message: string, more: JsonObject = {}): Reply {
  const debug = { reason, message, suggestion: "do this", ...more };
  return {
    status: 400,
    json: { code: "invalid_argument", message, details: [{ type: "gin.v1.ErrorDetail", value: "", debug }] },
  };
}
