import { connect as connectH2, type IncomingHttpHeaders } from "node:http2";
import { createConnection } from "node:net";
import { gunzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Clock, GinError, systemClock } from "../../../src/daemon/base/index.ts";
import { callerKey } from "../../../src/daemon/listener/index.ts";
import { ReadPathRequestSchema, ReadPathResponseSchema } from "../../../src/gen/gin/v1/read_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { type Harness, start } from "./harness.ts";
import { detailOfJson, dial, drained, exchange, parseAnswer, post, type RawAnswer } from "./raw.ts";

const READ = "/gin.v1.GinService/ReadPath";
const SAVE = "/gin.v1.GinService/Save";
const EXPLAIN = "/gin.v1.GinService/Explain";
const MIB = 1024 * 1024;
const ORIGIN = "https://good.example";

let harness: Harness;
let socket: string;
let port: number;

/** Whether each call that reached a handler came by Connect's own path, which hands over plain objects. */
const paths: ("direct" | "connect")[] = [];
/** Calls of Explain that wait to be aborted or released. */
const waiting: { readonly context: HandlerContext; release(): void }[] = [];
let arrived = () => {};

function note(context: HandlerContext): void {
  paths.push(Object.getPrototypeOf(context) === Object.prototype ? "connect" : "direct");
}

/** What a handler is told, but for the field that picks the path. */
function told(context: HandlerContext): string {
  const { requestMethod, url, protocolName, service, method, requestHeader, values } = context;
  const fields = [...requestHeader.entries()].filter(([name]) => name !== "accept-encoding");
  const left = context.timeoutMs();
  const deadline = left === undefined ? "none" : left > 50_000 && left <= 60_000 ? "a minute" : String(left <= 0);
  const caller = values.get(callerKey).principal;
  const { aborted } = context.signal;
  return JSON.stringify([requestMethod, url, protocolName, service.typeName, method.name, fields, deadline, caller, aborted]);
}

function routes(router: ConnectRouter): void {
  router.service(GinService, {
    readPath: (request, context) => {
      note(context);
      switch (request.path) {
        case "told":
          return { text: told(context) };
        case "gin":
          throw new GinError("PATH_NOT_FOUND", "nothing is there", undefined, { facts: { path: "gin" } });
        case "boom":
          throw new Error("secret inside");
        case "late":
          return Promise.reject(new GinError("NOT_READY", "later", undefined, { retryAfterMs: 5 }));
        case "connect":
          throw new ConnectError("its own words", Code.FailedPrecondition, { "x-why": "metadata" });
        case "fields":
          context.responseHeader.set("x-more", "1");
          context.responseTrailer.set("x-end", "2");
          return { text: "with fields" };
        case "fields, then boom":
          context.responseHeader.set("x-more", "1");
          throw new GinError("BUSY", "not now");
        case "not a message":
          return { text: 7 } as never;
        default:
          return { path: request.path, text: "x".repeat(request.limit), state: { incarnation: "in_1", generation: 3n } };
      }
    },
    save: (request, context) => {
      note(context);
      return { checkpoint: request.edits.map((edit) => edit.text).join() };
    },
    explain: async (_request, context) => {
      note(context);
      const { signal } = context;
      await new Promise<void>((resolve) => {
        waiting.push({ context, release: resolve });
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve());
        arrived();
      });
      const late = ConnectError.from(signal.reason).code === Code.DeadlineExceeded;
      if (signal.aborted) throw late ? signal.reason : new GinError("CANCELLED", "the caller gave up");
      return {};
    },
  });
  const { requestOutcome } = GinService.method;
  router.rpc(requestOutcome, () => ({}), { readMaxBytes: 100 });
}

beforeAll(async () => {
  harness = await start({ routes, allowOrigins: [ORIGIN] });
  socket = `${harness.directory}/gin.sock`;
  await harness.listener.listenSocket(socket);
  ({ port } = await harness.listener.listenTcp({ host: "127.0.0.1", port: 0 }));
});
afterAll(() => harness.close());

const target = () => ({ path: socket });
const plain = (answer: RawAnswer): Buffer =>
  answer.headers["content-encoding"] === "gzip" ? gunzipSync(dechunked(answer)) : dechunked(answer);

function dechunked(answer: RawAnswer): Buffer {
  expect(answer.headers["transfer-encoding"]).toBeUndefined();
  expect(answer.headers["content-length"]).toBe(String(answer.body.length));
  return answer.body;
}

/** What must be the same on both paths: the date passes, and the gzip answer's own fields are its business. */
function comparable(answer: RawAnswer): object {
  const { date, "content-length": _length, "content-encoding": _encoding, ...headers } = answer.headers;
  expect(date).toBeDefined();
  return { status: answer.status, headers, body: plain(answer).toString("latin1") };
}

/** The same request on both paths; the direct path's answer. `reached`: whether a handler is to see it. */
async function both(
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string>,
  reached: boolean,
): Promise<RawAnswer> {
  paths.length = 0;
  const direct = await exchange(target(), post(path, body, headers));
  const connect = await exchange(target(), post(path, body, { ...headers, "accept-encoding": "gzip" }));
  expect(paths).toEqual(reached ? ["direct", "connect"] : []);
  expect(comparable(direct)).toEqual(comparable(connect));
  return direct;
}

const proto = { "content-type": "application/proto" };
const read = (path: string, limit = 0) => toBinary(ReadPathRequestSchema, create(ReadPathRequestSchema, { path, limit }));
const answerOf = (answer: RawAnswer) => fromBinary(ReadPathResponseSchema, answer.body);

describe("both paths of plain Connect", () => {
  test.each([0, 10, 5_000, 200_000])("give the same answer of %i bytes in both forms", async (limit) => {
    const binary = await both(READ, read("a", limit), proto, true);
    expect(answerOf(binary)).toMatchObject({ path: "a", text: "x".repeat(limit) });
    expect(binary.headers["content-type"]).toBe("application/proto");
    const json = await both(READ, `{"path":"a","limit":${limit}}`, {}, true);
    expect(JSON.parse(json.body.toString())).toMatchObject({ path: "a", text: "x".repeat(limit), executable: false });
    expect(json.headers["content-type"]).toBe("application/json");
  });

  test.each<[string, string | Uint8Array, Record<string, string>]>([
    ["nothing in binary", new Uint8Array(0), proto],
    ["an empty object", "{}", {}],
    ["a character set", '{"path":"ä"}', { "content-type": "application/json; charset=utf-8" }],
    ["another spelling of the type", '{"path":"a"}', { "content-type": "Application/JSON" }],
    ["no compression by name", "{}", { "accept-encoding-x": "gzip" }],
    ["a deadline", '{"path":"told"}', { "connect-timeout-ms": "60000" }],
    ["a deadline that has passed", '{"path":"told"}', { "connect-timeout-ms": "0" }],
    ["fields given twice", '{"path":"told"}', { "x-a": "1\r\nx-a:   2  ", cookie: "a=1\r\ncookie: b=2" }],
    ["odd fields", '{"path":"told"}', { constructor: "1", __proto__x: "2", "x-empty": "", "x-latin": "\xe4" }],
    ["who calls", '{"path":"told"}', { "gin-principal": "alice/tests", "gin-client": "x/1" }],
    ["a query in the URL", '{"path":"told"}', {}],
    ["an allowed origin", '{"path":"a"}', { origin: ORIGIN }],
    ["fields a handler adds", '{"path":"fields"}', {}],
    ["fields a handler adds, in binary", read("fields"), proto],
    ["a mutation", '{"edits":[{"path":"a","text":"b"}]}', {}],
    ["fields no schema knows, in binary", Buffer.from([0x9a, 0x3f, 0x01, 0x61]), proto],
  ])("take %s", async (name, body, headers) => {
    const path = name === "a mutation" ? SAVE : name.includes("query") ? `${READ}?a=1&b` : READ;
    expect((await both(path, body, headers, true)).status).toBe(200);
  });

  test.each<[string, string, number, string | Uint8Array, Record<string, string>]>([
    ["bytes that are no JSON", "MALFORMED", 400, "{", {}],
    ["no bytes for JSON", "MALFORMED", 400, "", {}],
    ["JSON that is no object", "MALFORMED", 400, "[]", {}],
    ["an unknown field", "INVALID_REQUEST", 400, '{"path":"a","nope":1}', {}],
    ["a wrong type", "INVALID_REQUEST", 400, '{"path":7}', {}],
    ["a number out of range", "INVALID_REQUEST", 400, '{"limit":-1}', {}],
    ["a number beyond 2^53", "INVALID_REQUEST", 400, '{"path":"a","limit":9007199254740993}', {}],
    ["a truncated message", "MALFORMED", 400, read("abcdef").subarray(0, 5), proto],
    ["garbage for a message", "MALFORMED", 400, Buffer.from([0xff, 0xff, 0xff]), proto],
    ["a timeout that is no number", "INVALID_REQUEST", 400, "{}", { "connect-timeout-ms": "soon" }],
    ["a timeout in two fields", "INVALID_REQUEST", 400, "{}", { "connect-timeout-ms": "1\r\nconnect-timeout-ms: 2" }],
    ["a timeout beyond any timer", "INVALID_REQUEST", 400, "{}", { "connect-timeout-ms": "2147483648" }],
    ["another charset", "MEDIA_TYPE_UNSUPPORTED", 415, "{}", { "content-type": "application/json; charset=latin1" }],
    ["a charset of binary", "MEDIA_TYPE_UNSUPPORTED", 415, "", { "content-type": "application/proto; charset=utf-8" }],
    ["the type in two fields", "MEDIA_TYPE_UNSUPPORTED", 415, "{}", { "content-type": "application/json\r\ncontent-type: a/b" }],
    ["another protocol", "UNSUPPORTED", 501, "{}", { "gin-protocol": "2" }],
    ["a bad token", "UNAUTHENTICATED", 401, "{}", { authorization: "Bearer gin_x" }],
    ["a foreign origin", "ORIGIN_FORBIDDEN", 403, "{}", { origin: "https://evil.example" }],
    ["5 MiB", "TOO_LARGE", 429, Buffer.alloc(5 * MIB, 0x20), {}],
    ["5 MiB of binary", "TOO_LARGE", 429, Buffer.alloc(5 * MIB), proto],
  ])("refuse %s alike, and no handler sees it", async (_name, reason, status, body, headers) => {
    const answer = await both(READ, body, headers, false);
    expect({ status: answer.status, reason: detailOfJson(answer.body).reason }).toEqual({ status, reason });
  });

  test.each<[string, string, number]>([
    ["gin", "PATH_NOT_FOUND", 404],
    ["late", "NOT_READY", 503],
    ["boom", "INTERNAL", 500],
    ["connect", "INTERNAL", 400],
    ["fields, then boom", "BUSY", 503],
    ["not a message", "INTERNAL", 500],
  ])("tell what a handler throws alike: %s", async (path, reason) => {
    for (const [body, headers] of [[`{"path":"${path}"}`, {}] as const, [read(path), proto] as const]) {
      const answer = await both(READ, body, headers, true);
      expect(detailOfJson(answer.body).reason).toBe(reason);
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(answer.body.toString()).not.toContain("secret inside");
    }
  });

  test("refuse methods that are not served, and keep a registration's own limit", async () => {
    const missing = await both("/gin.v1.GinService/Context", "{}", {}, false);
    expect(detailOfJson(missing.body).reason).toBe("METHOD_UNKNOWN");
    const large = await both("/gin.v1.GinService/RequestOutcome", `{"target":"${"x".repeat(200)}"}`, {}, false);
    expect(detailOfJson(large.body).reason).toBe("TOO_LARGE");
  });

  test("count a body whose length is not told", async () => {
    const chunks = (size: number, pieces: number) =>
      Array.from({ length: pieces }, () => `${size.toString(16)}\r\n${" ".repeat(size)}\r\n`).join("");
    const head = (more: string) =>
      `POST ${READ} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n${more}\r\n`;
    for (const more of ["", "accept-encoding: gzip\r\n"]) {
      const small = await exchange(target(), head(more), `c\r\n{"path":"a"}\r\n`, chunks(1000, 3), "0\r\n\r\n");
      expect(JSON.parse(small.body.toString())).toMatchObject({ path: "a" });
      const large = await exchange(target(), head(more), chunks(MIB, 5), "0\r\n\r\n");
      expect(detailOfJson(large.body)).toMatchObject({ reason: "TOO_LARGE", facts: { limit: 4 * MIB, unit: "bytes" } });
    }
  });

  test("ask for a body that is wanted, and not for one that is too large", async () => {
    const seen: string[][] = [];
    for (const more of ["", "accept-encoding: gzip\r\n"]) {
      const lines: string[] = [];
      for (const length of [2, 5 * MIB]) {
        const connection = await dial(target());
        const all = drained(connection);
        connection.write(
          `POST ${READ} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n${more}\r\n`,
        );
        const first = await new Promise<Buffer>((resolve) => connection.once("data", resolve));
        if (length === 2) connection.write("{}");
        else connection.end();
        const whole = (await all).toString("latin1");
        expect(whole.startsWith(first.toString("latin1"))).toBe(true);
        lines.push(...(whole.match(/HTTP\/1\.1 \d+/g) ?? []));
      }
      seen.push(lines);
    }
    expect(seen[0]).toEqual(["HTTP/1.1 100", "HTTP/1.1 200", "HTTP/1.1 429"]);
    expect(seen[1]).toEqual(seen[0]);
  });

  test("keep a byte order mark at the start of a text", async () => {
    const marked = "\ufeffmarked";
    expect(answerOf(await both(READ, read(marked), proto, true)).path).toBe(marked);
  });

  test("do the same over HTTP/2", async () => {
    const cases: [string, Uint8Array, Record<string, string>][] = [
      [READ, Buffer.from('{"path":"a","limit":100}'), {}],
      [READ, read("a", 100), proto],
      [READ, read("gin"), proto],
      [READ, read("fields"), proto],
      [READ, Buffer.from('{"nope":1}'), {}],
      [READ, Buffer.alloc(5 * MIB), proto],
      ["/gin.v1.GinService/Context", Buffer.from("{}"), {}],
      [READ, Buffer.from("{}"), { "connect-timeout-ms": "x" }],
    ];
    for (const [path, body, headers] of cases) {
      const direct = await h2(path, body, headers);
      expect(await h2(path, body, { ...headers, "accept-encoding": "gzip" })).toEqual(direct);
    }
    expect((await h2(READ, read("a", 2_000), proto)).headers[":status"]).toBe(200);
  });
});

describe("a caller's end", () => {
  const pick = [["direct", {}] as const, ["connect", { "accept-encoding": "gzip" }] as const];

  function oneWaits(): Promise<void> {
    waiting.length = 0;
    return new Promise((resolve) => {
      arrived = resolve;
    });
  }

  const abortOf = (context: HandlerContext) =>
    new Promise<unknown>((resolve) => {
      if (context.signal.aborted) resolve(context.signal.reason);
      context.signal.addEventListener("abort", () => resolve(context.signal.reason));
    });

  test.each(pick)("aborts the handler when it hangs up (%s)", async (_path, headers) => {
    const waits = oneWaits();
    const connection = await dial(target());
    connection.write(post(EXPLAIN, "{}", headers));
    await waits;
    const aborted = abortOf(context());
    connection.destroy();
    expect(await aborted).toMatchObject({ code: Code.Canceled });
    await expect.poll(() => harness.listener.stats().running).toBe(0);
  });

  test.each(pick)("aborts the handler when its deadline passes, and is answered (%s)", async (_path, headers) => {
    const answer = await exchange(target(), post(EXPLAIN, "{}", { ...headers, "connect-timeout-ms": "30" }));
    expect({ status: answer.status, reason: detailOfJson(answer.body).reason }).toEqual({
      status: 504,
      reason: "DEADLINE_EXCEEDED",
    });
  });

  test.each(pick)("aborts the handler when its token ends (%s)", async (_path, headers) => {
    const waits = oneWaits();
    const auth = { host: `127.0.0.1:${port}`, authorization: `Bearer ${harness.token}` };
    const answer = exchange({ port }, post(EXPLAIN, "{}", { ...auth, ...headers }));
    await waits;
    const aborted = abortOf(context());
    harness.listener.endToken(harness.tokenId);
    expect(await aborted).toMatchObject({ code: Code.Unauthenticated });
    expect(detailOfJson((await answer).body).reason).toBe("CANCELLED");
  });

  test("in the middle of a body ends the request and nothing else", async () => {
    for (const [, headers] of pick) {
      paths.length = 0;
      const connection = await dial(target());
      connection.write(post(READ, '{"path":"a"}', headers).subarray(0, -4));
      await expect.poll(() => harness.listener.stats().running).toBe(1);
      connection.destroy();
      await expect.poll(() => harness.listener.stats().running).toBe(0);
      expect(paths).toEqual([]);
    }
  });

  test("no timer outlives its call", async () => {
    let timers = 0;
    const after: Clock["after"] = (ms, callback) => {
      timers++;
      let over = false;
      const finish = () => {
        if (!over) timers--;
        over = true;
      };
      const cancel = systemClock.after(ms, () => {
        finish();
        callback();
      });
      return () => {
        finish();
        cancel();
      };
    };
    const other = await start({ routes, clock: { ...systemClock, after } });
    const path = `${other.directory}/gin.sock`;
    await other.listener.listenSocket(path);
    for (const body of ['{"path":"told"}', '{"path":"gin"}', "{"]) {
      await exchange({ path }, post(READ, body, { "connect-timeout-ms": "60000" }));
    }
    expect(timers).toBe(0);
    await other.close();
  });

  function context(): HandlerContext {
    const [first] = waiting;
    if (first === undefined) throw new Error("nobody waits");
    return first.context;
  }

  test("a drain lets both finish, and tells them that the connection ends", async () => {
    const other = await start({ routes });
    const path = `${other.directory}/gin.sock`;
    await other.listener.listenSocket(path);
    const answers = [];
    for (const [, headers] of pick) {
      const waits = oneWaits();
      const connection = await dial({ path });
      const all = drained(connection);
      connection.write(post(EXPLAIN, "{}", { ...headers, connection: "keep-alive" }));
      await waits;
      answers.push({ all, release: waiting[0]?.release });
    }
    const drainedInTime = other.listener.drain(10_000);
    for (const { release } of answers) release?.();
    expect(await drainedInTime).toBe(true);
    const [direct, connect] = await Promise.all(answers.map(async ({ all }) => parseAnswer(await all)));
    expect(direct?.headers.connection).toBe("close");
    expect(comparable(direct as RawAnswer)).toEqual(comparable(connect as RawAnswer));
    await other.close();
  });
});

/** One HTTP/2 call on the socket, without what passes. */
function h2(
  path: string,
  body: Uint8Array,
  headers: Record<string, string>,
): Promise<{ headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const session = connectH2("http://gin", { createConnection: () => createConnection(socket), maxSessionMemory: 64 });
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json", ...headers });
    let head: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("error", reject);
    stream.on("response", ({ date: _date, ...given }) => {
      head = given;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      session.destroy();
      resolve({ headers: head, body: Buffer.concat(chunks).toString("latin1") });
    });
    stream.end(body);
  });
}
