import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OneShot } from "../../../src/clients/sdk/one-shot.ts";
import type { PostFailure, PostOptions } from "../../../src/clients/sdk/post.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { fakeDaemon } from "./fake-daemon.ts";

const ANSWER = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/** A server of bytes: `serve` gets each connection once its request has arrived whole, and the request. */
async function rawServer(serve: (socket: Socket, request: string) => void): Promise<string> {
  const path = join(tempDir("raw"), "s.sock");
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? Number.NaN);
      if (text.length - text.indexOf("\r\n\r\n") - 4 === length) serve(socket, text);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  atTeardown(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return path;
}

async function failure(path: string, options?: PostOptions, body = "{}"): Promise<PostFailure> {
  return await new OneShot(path, {}).post("/p", "application/json", body, options).then(
    () => expect.fail("there was an answer"),
    (thrown: unknown) => thrown as PostFailure,
  );
}

describe("what is sent", () => {
  test("one request of HTTP/1.1 with every header, and the connection is its own", async () => {
    let seen = "";
    const path = await rawServer((socket, request) => {
      seen = request;
      socket.write(ANSWER);
    });
    const sender = new OneShot(path, { "gin-protocol": "1", "gin-principal": "älice" });
    const answer = await sender.post("/gin.v1.GinService/Call", "application/json", '{"é":1}', { timeoutMs: 1500.2 });
    expect([answer.status, answer.headers["content-type"], answer.body.toString()]).toEqual([200, "application/json", "{}"]);
    const [head = "", body] = seen.split("\r\n\r\n");
    expect(head.split("\r\n")).toEqual([
      "POST /gin.v1.GinService/Call HTTP/1.1",
      "host: localhost",
      "connection: close",
      "gin-protocol: 1",
      "gin-principal: älice",
      "content-type: application/json",
      "content-length: 8",
      "connect-timeout-ms: 1501",
    ]);
    expect(Buffer.from(body ?? "", "latin1").toString("utf8")).toBe('{"é":1}');
  });

  test("a large body arrives whole at Node's own server, and so does a large answer", async () => {
    const text = "0123456789abcdef".repeat(300_000);
    const daemon = await fakeDaemon(({ json }) => ({ json: { echo: json.text } }));
    const sender = new OneShot(daemon.socketPath, {});
    const sent = await Promise.all([1, 2, 3].map(() => sender.post("/p", "application/json", JSON.stringify({ text }))));
    for (const { body } of sent) expect(JSON.parse(body.toString())).toEqual({ echo: text });
    expect(daemon.seen.map(({ connection }) => connection).sort()).toEqual([0, 1, 2]);
  });

  test.each(["a\nb", "a\r\nx: y", "a\0", "\u{1f600}"])(
    "a header that HTTP cannot carry leaves nothing sent: %j",
    async (principal) => {
      const sender = new OneShot(join(tempDir(), "none.sock"), { "gin-principal": principal });
      const thrown = await sender.post("/p", "application/json", "{}").catch((error: unknown) => error);
      expect(thrown).toMatchObject({ name: "PostFailure", code: "ERR_INVALID_CHAR", sent: false });
    },
  );
});

describe("what is answered", () => {
  test("one byte at a time, chunks with trailers, interim answers", async () => {
    const answers = [
      ANSWER,
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nx-sum: 1\r\n\r\n",
      `HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`,
    ];
    let at = 0;
    const path = await rawServer((socket) => {
      const bytes = answers[at++] ?? "";
      let next = 0;
      const one = (): void => {
        if (next < bytes.length) socket.write(bytes.charAt(next++), () => setImmediate(one));
      };
      one();
    });
    for (const _ of answers) {
      const answer = await new OneShot(path, {}).post("/p", "application/json", "{}");
      expect([answer.status, answer.body.toString()]).toEqual([200, "{}"]);
    }
  });

  test("an answer counts however the connection ends after it", async () => {
    const path = await rawServer((socket) => {
      socket.end(`${ANSWER}garbage`);
    });
    expect((await new OneShot(path, {}).post("/p", "application/json", "{}")).body.toString()).toBe("{}");
  });

  test.each([
    ["before any byte", ""],
    ["in the head", ANSWER.slice(0, 40)],
    ["in the body", ANSWER.slice(0, -1)],
    ["in a chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"],
    ["before the last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"],
    ["before the end of the trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"],
  ])("a connection that ends %s leaves no answer, and something was sent", async (_when, text) => {
    const ends = [(socket: Socket) => void socket.end(text), (socket: Socket) => void socket.write(text, () => socket.destroy())];
    for (const end of ends) {
      expect(await failure(await rawServer(end))).toMatchObject({
        code: "ECONNRESET",
        sent: true,
        message: "the connection broke before the answer came",
      });
    }
  });

  test.each([
    ["garbage", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["an oversized header", `HTTP/1.1 200 OK\r\nx-a: ${"x".repeat(17_000)}\r\n`],
    ["an answer without a length", "HTTP/1.1 200 OK\r\n\r\n{}"],
  ])("%s is not waited for, and something was sent", async (_what, text) => {
    const path = await rawServer((socket) => void socket.write(text));
    expect(await failure(path, { timeoutMs: 0 })).toMatchObject({ code: "NOT_GIN", sent: true });
  });
});

describe("no answer", () => {
  test("without a daemon nothing was sent", async () => {
    expect(await failure(join(tempDir(), "none.sock"))).toMatchObject({
      code: "ENOENT",
      sent: false,
      message: "no daemon is running (there is no socket)",
    });
    const daemon = await fakeDaemon(() => "hang");
    const gone = await fakeDaemon(() => "hang");
    await gone.stop();
    expect((await failure(gone.socketPath)).sent).toBe(false);
    const aborted = AbortSignal.abort();
    expect(await failure(daemon.socketPath, { signal: aborted })).toMatchObject({ code: "ABORTED", sent: false });
    expect(daemon.seen).toEqual([]);
  });

  test("a deadline, a cancellation and a close end the wait, and something was sent", async () => {
    const daemon = await fakeDaemon(() => "hang");
    expect(await failure(daemon.socketPath, { timeoutMs: 20 })).toMatchObject({ code: "TIMEOUT", sent: true });
    const abort = new AbortController();
    const cancelled = failure(daemon.socketPath, { signal: abort.signal });
    await expect.poll(() => daemon.seen.length).toBe(2);
    abort.abort();
    expect(await cancelled).toMatchObject({ code: "ABORTED", sent: true });
    const sender = new OneShot(daemon.socketPath, {});
    const closed = sender.post("/p", "application/json", "{}").catch((thrown: unknown) => thrown);
    await expect.poll(() => daemon.seen.length).toBe(3);
    sender.close();
    expect(await closed).toMatchObject({ code: "ECONNRESET", sent: true });
  });
});
