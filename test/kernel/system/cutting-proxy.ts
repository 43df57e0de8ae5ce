import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

/** Where the proxy cuts the next connection: at once; after so many bytes of the request; after so many of the answer. Undefined lets it pass. */
export type Cut = { readonly where: "connect" | "request" | "answer"; readonly bytes: number } | undefined;

/** A proxy on a Unix socket that knows nothing of HTTP and cuts both sides where it is told. */
export interface CuttingProxy {
  readonly socket: string;
  /** Connections cut so far. */
  readonly cuts: { connect: number; request: number; answer: number };
}

/** `next` is asked once a connection, in the order they are made. */
export async function startCuttingProxy(target: string, next: () => Cut): Promise<CuttingProxy> {
  const cuts = { connect: 0, request: 0, answer: 0 };
  const open = new Set<Socket>();
  const server: Server = createServer((near) => {
    const cut = next();
    const far = connect(target);
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        open.delete(socket);
        end();
      });
    }
    const cutNow = (where: "connect" | "request" | "answer"): void => {
      cuts[where]++;
      end();
    };
    if (cut?.where === "connect") return cutNow("connect");
    pass(near, far, cut?.where === "request" ? cut.bytes : undefined, () => cutNow("request"));
    pass(far, near, cut?.where === "answer" ? cut.bytes : undefined, () => cutNow("answer"));
  });
  const socket = join(tempDir("cutting"), "s");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  atTeardown(() => {
    for (const one of open) one.destroy();
    server.close();
  });
  return { socket, cuts };
}

/** Passes bytes on, and after `limit` of them calls `cut` once they have left. */
function pass(from: Socket, to: Socket, limit: number | undefined, cut: () => void): void {
  let passed = 0;
  from.on("data", (chunk) => {
    const room = limit === undefined ? chunk.byteLength : limit - passed;
    passed += chunk.byteLength;
    if (chunk.byteLength < room || limit === undefined) to.write(chunk);
    else if (room > 0) to.write(chunk.subarray(0, room), cut);
    else cut();
  });
}
