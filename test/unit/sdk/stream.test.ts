import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { follow } from "../../../src/clients/sdk/follow.ts";
import { EngineError, JsonClient, type JsonObject, NotSentError } from "../../../src/clients/sdk/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { fakeDaemon, refusal } from "./fake-daemon.ts";

const TYPE = "application/connect+json";

function envelope(message: JsonObject, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(body.byteLength, 1);
  return Buffer.concat([head, body]);
}

const END = envelope({}, 2);

/** A daemon that answers each stream by a function. */
async function streaming(
  answer: (response: ServerResponse, request: JsonObject, nth: number) => void,
  timeoutMs?: number,
): Promise<JsonClient> {
  const socketPath = join(tempDir("stream"), "s");
  let nth = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      response.writeHead(200, { "content-type": TYPE });
      answer(response, JSON.parse(body.toString("utf8", 5)) as JsonObject, nth++);
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  atTeardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return new JsonClient({ target: { socketPath }, timeoutMs });
}

async function all(messages: AsyncIterable<JsonObject>): Promise<JsonObject[]> {
  const taken: JsonObject[] = [];
  for await (const message of messages) taken.push(message);
  return taken;
}

describe("a stream", () => {
  test("gives each message, however its bytes are cut, until the end says it is over", async () => {
    const client = await streaming((response) => {
      const bytes = Buffer.concat([envelope({ n: 1, text: "ä\u2028" }), envelope({ n: 2 }), envelope({ n: 3 }), END]);
      const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) => bytes.subarray(3 * at, 3 * at + 3));
      const next = (): void => {
        const piece = pieces.shift();
        if (piece === undefined) response.end();
        else response.write(piece, () => setImmediate(next));
      };
      next();
    });
    expect(await all(client.watch())).toEqual([{ n: 1, text: "ä\u2028" }, { n: 2 }, { n: 3 }]);
  });

  test("sends the request as one Connect envelope, with the client's headers", async () => {
    const daemon = await fakeDaemon(() => ({ bytes: END, type: TYPE }));
    const client = new JsonClient({ target: { socketPath: daemon.socketPath }, client: "me", principal: "ann", token: "gin_t" });
    expect(await all(client.watch({ since: "c" }))).toEqual([]);
    const [seen] = daemon.seen;
    expect(seen?.path).toBe("/gin.v1.GinService/Watch");
    expect(seen?.headers).toMatchObject({ "content-type": TYPE, "gin-principal": "ann", authorization: "Bearer gin_t" });
    expect(seen?.headers["gin-client"]).toMatch(/^me\//);
    expect(seen?.body).toEqual(envelope({ since: "c" }));
  });

  test.each([
    ["breaks off before its end", envelope({ n: 1 }), "ECONNRESET"],
    ["is cut within a message", envelope({ n: 1 }).subarray(0, 7), "ECONNRESET"],
    ["holds what is no JSON", Buffer.from("\0\0\0\0\x01{", "latin1"), "NOT_GIN"],
    ["holds what is no object", Buffer.from("\0\0\0\0\x011", "latin1"), "NOT_GIN"],
    ["holds a compressed message", envelope({ n: 1 }, 1), "NOT_GIN"],
    ["announces too large a message", Buffer.from([0, 255, 255, 255, 255]), "NOT_GIN"],
  ])("that %s is a transport failure", async (_name, bytes, code) => {
    const daemon = await fakeDaemon(() => ({ bytes, type: TYPE }));
    const failure = await all(new JsonClient({ target: { socketPath: daemon.socketPath } }).watch()).catch((thrown) => thrown);
    expect(failure).toBeInstanceOf(NotSentError);
    expect(failure.code).toBe(code);
  });

  test("that ends with an error throws it, and so does a refusal before it began", async () => {
    const detail = { type: "gin.v1.ErrorDetail", value: "", debug: { reason: "BUSY", message: "draining", retryable: true } };
    const end = envelope({ error: { code: "unavailable", message: "draining", details: [detail] } }, 2);
    const daemon = await fakeDaemon(({ headers }) =>
      headers["gin-principal"] === "early"
        ? refusal("UNAUTHENTICATED", "no")
        : { bytes: Buffer.concat([envelope({ n: 1 }), end]), type: TYPE },
    );
    const target = { socketPath: daemon.socketPath };
    const messages = new JsonClient({ target }).watch();
    expect((await messages.next()).value).toEqual({ n: 1 });
    const late = await messages.next().catch((thrown) => thrown);
    expect(late).toBeInstanceOf(EngineError);
    expect([late.detail.reason, late.detail.retryable]).toEqual(["BUSY", true]);
    const early = await all(new JsonClient({ target, principal: "early" }).watch()).catch((thrown) => thrown);
    expect(early.detail.reason).toBe("UNAUTHENTICATED");
  });

  test.each([
    [404, "NOT_GIN", false],
    [500, "HTTP_500", true],
    [502, "HTTP_502", true],
  ])("answered with HTTP %i and no reason of a daemon fails with %s", async (status, code, sent) => {
    const daemon = await fakeDaemon(() => ({ json: "<html>", status, type: "text/html" }));
    const failure = await all(new JsonClient({ target: { socketPath: daemon.socketPath } }).watch()).catch((thrown) => thrown);
    expect([failure.constructor, failure.code, failure.sent]).toEqual([NotSentError, code, sent]);
  });

  test("whose answer does not begin within the client's timeout fails; one that has begun may be silent for longer", async () => {
    const daemon = await fakeDaemon(() => "hang");
    const hanging = new JsonClient({ target: { socketPath: daemon.socketPath }, timeoutMs: 50 });
    const failure = await all(hanging.watch()).catch((thrown) => thrown);
    expect([failure.constructor, failure.code, failure.message]).toEqual([NotSentError, "TIMEOUT", "no answer within 50 ms"]);
    const quiet = await streaming((response) => {
      response.flushHeaders();
      setTimeout(() => response.end(Buffer.concat([envelope({ n: 1 }), END])), 150);
    }, 50);
    expect(await all(quiet.watch())).toEqual([{ n: 1 }]);
  });

  test("over TCP asks a silent connection whether its other end is there, so that one that is lost is no stream for ever", async () => {
    const asked = vi.spyOn(Socket.prototype, "setKeepAlive");
    const server = createServer((_, response) => response.writeHead(200, { "content-type": TYPE }).end(END));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atTeardown(() => {
      server.close();
    });
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(await all(new JsonClient({ target: { url } }).watch())).toEqual([]);
    expect(asked).toHaveBeenCalledWith(true, 30_000);
    asked.mockRestore();
  });

  test("where no daemon is: nothing was sent", async () => {
    const failure = await all(new JsonClient({ target: { socketPath: "/nowhere/s" } }).watch()).catch((thrown) => thrown);
    expect([failure.constructor, failure.code, failure.sent]).toEqual([NotSentError, "ENOENT", false]);
  });

  test("leaving the loop and the signal both close the connection, without an error", async () => {
    let closed = 0;
    const client = await streaming((response) => {
      response.on("close", () => (closed += 1));
      response.write(envelope({ n: 1 }));
    });
    for await (const message of client.watch()) {
      expect(message).toEqual({ n: 1 });
      break;
    }
    await expect.poll(() => closed).toBe(1);
    const leaving = new AbortController();
    const messages = client.watch({}, { signal: leaving.signal });
    await messages.next();
    const last = messages.next();
    leaving.abort();
    expect(await last).toEqual({ done: true, value: undefined });
    await expect.poll(() => closed).toBe(2);
    expect(await all(client.watch({}, { signal: leaving.signal }))).toEqual([]);
  });

  test("is taken at the reader's pace: what it does not take stays with the sender", async () => {
    let written = 0;
    let full: () => void;
    const stopped = new Promise<void>((resolve) => (full = resolve));
    const client = await streaming((response) => {
      const more = (): void => {
        while (written < 2_000) {
          written += 1;
          if (!response.write(envelope({ n: written, fill: "x".repeat(16_000) }))) {
            response.once("drain", more);
            full();
            return;
          }
        }
        response.end(END);
      };
      more();
    });
    const messages = client.watch();
    await messages.next();
    await stopped;
    expect(written).toBeLessThan(500);
    expect((await all(messages)).at(-1)?.n).toBe(2_000);
  });

  test("loads no http2, which connect-node would bring", async () => {
    const script = `
      const { JsonClient } = await import(${JSON.stringify(join(repo, "src/clients/sdk/index.ts"))});
      try { for await (const _ of new JsonClient({ target: { socketPath: "/nowhere/s" } }).watch()); } catch {}
      const loaded = process.moduleLoadList.filter((name) => /http2/.test(name));
      console.log(JSON.stringify(loaded));
    `;
    const run = await runCommand(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], { cwd: repo });
    expect([run.code, run.stdout, run.stderr]).toEqual([0, "[]\n", ""]);
  });
});

describe("following", () => {
  const message = (n: number): JsonObject => ({ cursor: `c${n}`, n });
  const broken = (code = "ECONNRESET") => new NotSentError("broke", code, undefined, true);
  const engine = (reason: string) =>
    new EngineError(
      {
        reason,
        message: reason,
        suggestion: "",
        retryable: false,
        retryAfterMs: 0,
        facts: {},
        nextCall: undefined,
        detailId: "",
        raw: {},
      },
      "",
      undefined,
    );

  /** A stream whose attempts are told one by one: messages, then how it ends. */
  function attempts(script: readonly { readonly gives: readonly JsonObject[]; readonly ends?: Error }[]) {
    const asked: string[] = [];
    const open = async function* (since: string): AsyncGenerator<JsonObject> {
      const attempt = script[asked.length];
      asked.push(since);
      yield* attempt?.gives ?? [];
      if (attempt?.ends !== undefined) throw attempt.ends;
    };
    return { asked, open };
  }

  test("goes on with the last cursor after breaks and drains, and tells of each break once", async () => {
    const { asked, open } = attempts([
      { gives: [message(1), message(2)], ends: broken() },
      { gives: [], ends: broken("HTTP_502") },
      { gives: [], ends: broken("TIMEOUT") },
      { gives: [message(3)], ends: engine("BUSY") },
      { gives: [message(4)] },
    ]);
    const breaks: string[] = [];
    const seen = await all(follow(open, "c0", { onBreak: (why) => breaks.push(why.message) }));
    expect(seen.map(({ n }) => n)).toEqual([1, 2, 3, 4]);
    expect(asked).toEqual(["c0", "c2", "c2", "c2", "c3"]);
    expect(breaks).toEqual(["broke", "BUSY"]);
  });

  test("throws the first attempt's error, whatever says that this stream may not go on, and any break where it is told to", async () => {
    await expect(all(follow(attempts([{ gives: [], ends: broken() }]).open, "", {}))).rejects.toThrow("broke");
    const over = attempts([{ gives: [message(1)], ends: engine("UNAUTHENTICATED") }]);
    await expect(all(follow(over.open, "", {}))).rejects.toThrow("UNAUTHENTICATED");
    const foreign = attempts([{ gives: [message(1)], ends: broken("NOT_GIN") }]);
    await expect(all(follow(foreign.open, "", {}))).rejects.toThrow("broke");
    const once = attempts([{ gives: [message(1)], ends: broken() }]);
    await expect(all(follow(once.open, "", { reconnect: false }))).rejects.toThrow("broke");
  });

  test("ends at the signal, also while it waits to try again", async () => {
    const leaving = new AbortController();
    const { open } = attempts([{ gives: [message(1)], ends: broken() }]);
    const seen = await all(follow(open, "", { signal: leaving.signal, onBreak: () => leaving.abort() }));
    expect(seen).toEqual([message(1)]);
  });
});
