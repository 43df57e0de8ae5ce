import { connect as connectH2, type IncomingHttpHeaders } from "node:http2";
import { createConnection } from "node:net";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REASONS, type Reason } from "../../../src/daemon/base/index.ts";
import { ErrorDetailSchema } from "../../../src/gen/gin/v1/common_pb.ts";
import { ReadPathRequestSchema } from "../../../src/gen/gin/v1/read_pb.ts";
import { type Harness, start } from "./harness.ts";
import { detailOfJson, exchange, post, type RawAnswer } from "./raw.ts";

const READ = "/gin.v1.GinService/ReadPath";
const SAVE = "/gin.v1.GinService/Save";
const MIB = 1024 * 1024;

let harness: Harness;
let port: number;
let auth: Record<string, string>;

beforeAll(async () => {
  harness = await start({ allowOrigins: ["https://good.example"], allowHosts: ["gin.example", "proxy.example:443"] });
  ({ port } = await harness.listener.listenTcp({ host: "127.0.0.1", port: 0 }));
  auth = { host: `127.0.0.1:${port}`, authorization: `Bearer ${harness.token}` };
});
afterAll(() => harness.close());

async function refused(
  reason: Reason,
  status: number,
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const before = harness.service.handled;
  const answer = await exchange({ port }, post(path, body, { ...auth, ...headers }));
  const detail = detailOfJson(answer.body);
  expect({ status: answer.status, reason: detail.reason }).toEqual({ status, reason });
  expect(detail.suggestion).not.toBe("");
  expect(answer.headers["gin-protocol"]).toBe("1");
  expect(harness.service.handled).toBe(before);
  return answer;
}

describe("a plain Connect call", () => {
  test("is answered in the contract's names, with who called", async () => {
    const answer = await exchange({ port }, post(READ, '{"path":"a","start_line":1}', auth));
    expect(answer.status).toBe(200);
    const json = JSON.parse(answer.body.toString());
    expect(json).toMatchObject({ path: "a", sha256: "agent-7", size: "0", executable: false, link_target: "" });
    expect(answer.headers).toMatchObject({ "gin-protocol": "1", "gin-server": "gin" });
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test.each<[string, Reason, number, string, Record<string, string>]>([
    ["bytes that are no JSON", "MALFORMED", 400, "{", {}],
    ["bytes that are no message", "MALFORMED", 400, "\xff\xff\xff", { "content-type": "application/proto" }],
    ["an unknown content type", "MEDIA_TYPE_UNSUPPORTED", 415, "{}", { "content-type": "text/plain" }],
    ["the content type of a form", "MEDIA_TYPE_UNSUPPORTED", 415, "a=b", { "content-type": "application/x-www-form-urlencoded" }],
    ["the content type of streams", "MEDIA_TYPE_UNSUPPORTED", 400, "{}", { "content-type": "application/json; charset=latin1" }],
    ["an unknown compression", "MEDIA_TYPE_UNSUPPORTED", 415, "{}", { "content-encoding": "zstd" }],
    ["gzip that is none", "MALFORMED", 400, "{}", { "content-encoding": "gzip" }],
    ["a timeout that is no number", "INVALID_REQUEST", 400, "{}", { "connect-timeout-ms": "soon" }],
    ["an unknown protocol major", "UNSUPPORTED", 501, "{}", { "gin-protocol": "2" }],
    ["no token", "UNAUTHENTICATED", 401, "{}", { authorization: "" }],
    ["another scheme", "UNAUTHENTICATED", 401, "{}", { authorization: "Basic Z2luOmdpbg==" }],
    ["an unknown token", "UNAUTHENTICATED", 401, "{}", { authorization: "Bearer gin_x" }],
    ["a foreign origin", "ORIGIN_FORBIDDEN", 403, "{}", { origin: "https://evil.example" }],
    ["a null origin", "ORIGIN_FORBIDDEN", 403, "{}", { origin: "null" }],
  ])("refuses %s", async (_name, reason, status, body, headers) => {
    const expected = headers["content-type"]?.includes("latin1") === true ? 415 : status;
    await refused(reason, expected, READ, Buffer.from(body, "latin1"), headers);
  });

  test.each([
    ['{"path":"a","nope":1}', "nope"],
    ['{"path":7}', "path"],
    ['{"edits":[{"path":"a"},{"path":"b","bogus":1}]}', "edits[1].bogus"],
    ['{"edits":[{"path":"a","expect":[]}]}', "edits[0].expect"],
    ['{"on_conflict":"ON_CONFLICT_MAYBE"}', "on_conflict"],
    ['{"generation":"x"}', "generation"],
  ])("names the field that is wrong in %s", async (body, field) => {
    const answer = await refused(
      "INVALID_REQUEST",
      400,
      body.includes('"path":"a","nope"') || body.includes("7") ? READ : SAVE,
      body,
    );
    expect(detailOfJson(answer.body).facts).toEqual({ field });
    const zipped = await refused("INVALID_REQUEST", 400, field === "nope" || field === "path" ? READ : SAVE, gzipSync(body), {
      "content-encoding": "gzip",
    });
    expect(detailOfJson(zipped.body).facts).toEqual({ field });
  });

  test("takes a 64-bit number beyond 2^53 as a string only", async () => {
    const whole = '{"message":"9007199254740993, \\"9007199254740993","edits":[]';
    await refused("INVALID_REQUEST", 400, SAVE, `${whole},"generation":9007199254740993}`);
    const answer = await exchange({ port }, post(SAVE, `${whole},"generation":"9007199254740993"}`, auth));
    expect(answer.status).toBe(200);
  });

  test.each([
    "/",
    "/gin.v1.GinService/Nope",
    "/gin.v2.GinService/Save",
    "/gin.v1.GinService/save",
    "http://evil.example/gin.v1.GinService/Save",
  ])("knows no method at %s", async (path) => {
    await refused("METHOD_UNKNOWN", 404, path, "{}");
  });

  test("tells methods that are not served from failures", async () => {
    await refused("METHOD_UNKNOWN", 404, "/gin.v1.GinService/Context", "{}");
  });

  test.each(["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])("refuses the verb %s", async (verb) => {
    const answer = await exchange({ port }, `${verb} ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST");
    if (verb !== "HEAD") expect(detailOfJson(answer.body).reason).toBe("METHOD_UNKNOWN");
  });

  test("keeps what a handler failed of to itself, and tells what it raised", async () => {
    const failed = await exchange({ port }, post(READ, '{"path":"boom"}', auth));
    expect(failed.status).toBe(500);
    expect(detailOfJson(failed.body).reason).toBe("INTERNAL");
    expect(failed.body.toString()).not.toContain("secret inside");
    expect(harness.log.lines.some((line) => line.includes("secret inside"))).toBe(true);
    const raised = await exchange({ port }, post(READ, '{"path":"stale"}', auth));
    expect(raised.status).toBe(404);
    expect(detailOfJson(raised.body)).toMatchObject({ reason: "PATH_NOT_FOUND", facts: { path: "stale" } });
  });
});

describe("Host and Origin", () => {
  test.each([
    "evil.example",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost",
    "127.evil.com:PORT",
    "127.0.0.1.:PORT",
    "localhost.:PORT",
    "2130706433:PORT",
    "0x7f.0.0.1:PORT",
    "0.0.0.0:PORT",
    "[::]:PORT",
    "[::1",
    "gin.example",
    "gin.example.:PORT",
    "xgin.example:PORT",
    "proxy.example:PORT",
    "proxy.example",
    "user@127.0.0.1:PORT",
    "127.0.0.1:PORT:PORT",
    "",
    "127.0.0.1:PORT, evil.example",
    "①27.0.0.1:PORT",
  ])("Host %j is forbidden", async (host) => {
    await refused("HOST_FORBIDDEN", 403, READ, "{}", {
      host: Buffer.from(host.replaceAll("PORT", String(port))).toString("latin1"),
    });
  });

  test("a second Host header does not help", async () => {
    const head = `POST ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nhost: evil.example\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n`;
    const answer = await exchange({ port }, head);
    expect([400, 403]).toContain(answer.status);
    expect(["HOST_FORBIDDEN", "MALFORMED"]).toContain(detailOfJson(answer.body).reason);
  });

  test.each(["127.0.0.1:PORT", "LOCALHOST:PORT", "[::1]:PORT", "127.9.9.9:PORT", "gin.example:PORT", "proxy.example:443"])(
    "Host %s is served",
    async (host) => {
      const answer = await exchange({ port }, post(READ, "{}", { ...auth, host: host.replaceAll("PORT", String(port)) }));
      expect(answer.status).toBe(200);
    },
  );

  test("an HTTP/2 :authority is checked like a Host", async () => {
    const headers = await h2(READ, Buffer.from("{}"), {
      ":authority": "evil.example",
      "content-type": "application/json",
      authorization: auth.authorization,
    });
    expect(headers.headers[":status"]).toBe(403);
    expect(detailOfJson(headers.body).reason).toBe("HOST_FORBIDDEN");
  });

  test("an allowed origin gets CORS headers and its preflight", async () => {
    const origin = "https://good.example";
    const answer = await exchange({ port }, post(READ, "{}", { ...auth, origin }));
    expect(answer.status).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
    const preflight = await exchange(
      { port },
      `OPTIONS ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\norigin: ${origin}\r\naccess-control-request-method: POST\r\nconnection: close\r\n\r\n`,
    );
    expect(preflight.status).toBe(204);
    expect(preflight.headers["access-control-allow-headers"]).toContain("authorization");
    const foreign = await exchange(
      { port },
      `OPTIONS ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\norigin: https://evil.example\r\nconnection: close\r\n\r\n`,
    );
    expect(foreign.status).toBe(403);
    expect(Object.keys(foreign.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("a WebSocket from a page is not upgraded", async () => {
    const answer = await exchange(
      { port },
      `GET ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\norigin: https://evil.example\r\nupgrade: websocket\r\nconnection: upgrade, close\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    expect(answer.status).toBe(403);
  });
});

describe("size", () => {
  const large = `{"path":"${"x".repeat(17 * MIB)}"}`;

  test("a message of 17 MiB is refused, with its length told or not", async () => {
    await refused("TOO_LARGE", 429, SAVE, large);
    const head = post(SAVE, "", { ...auth, "transfer-encoding": "chunked" })
      .toString("latin1")
      .replace("content-length: 0\r\n", "");
    const chunked = [...large.matchAll(/.{1,65536}/g)].map(([part]) => `${part.length.toString(16)}\r\n${part}\r\n`);
    const answer = await exchange({ port }, head, ...chunked, "0\r\n\r\n");
    expect(answer.status).toBe(429);
    expect(detailOfJson(answer.body)).toMatchObject({ reason: "TOO_LARGE", facts: { limit: 16 * MIB, unit: "bytes" } });
  });

  test("5 MiB fit a save and no read", async () => {
    const body = (field: string) => `{"${field}":"${"x".repeat(5 * MIB)}"}`;
    await refused("TOO_LARGE", 429, READ, body("path"));
    const answer = await exchange({ port }, post(SAVE, body("message"), auth));
    expect(answer.status).toBe(200);
  });

  test("compressed bombs are refused and cost no memory", async () => {
    const brotli = brotliCompressSync(Buffer.alloc(64 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
    expect(brotli.length).toBeLessThan(2048);
    // Members of 10 MiB in a row are one gzip file.
    const member = gzipSync(Buffer.alloc(10 * MIB));
    const gzip = Buffer.concat(Array<Buffer>(100).fill(member));
    expect(gzip.length).toBeGreaterThan(900_000);
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    for (let round = 0; round < 5; round++) {
      await refused("MEDIA_TYPE_UNSUPPORTED", 415, SAVE, brotli, { "content-encoding": "br" });
      await refused("TOO_LARGE", 429, SAVE, gzip, { "content-encoding": "gzip" });
    }
    // The largest message allowed, twice (inflated, and copied), and the bombs in this very process.
    expect(process.memoryUsage.rss() - before).toBeLessThan(96 * MIB);
  });

  test("17 KiB of header fields are refused on both versions", async () => {
    await refused("TOO_LARGE", 431, READ, "{}", { "x-large": "x".repeat(17 * 1024) });
    const answer = await h2(READ, Buffer.from("{}"), {
      ":authority": auth.host,
      "content-type": "application/json",
      "x-large": "x".repeat(17 * 1024),
    });
    expect({ status: answer.headers[":status"], reason: detailOfJson(answer.body).reason }).toEqual({
      status: 431,
      reason: "TOO_LARGE",
    });
  });

  test("65 header fields are refused on both versions", async () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`x-${at}`, "1"]));
    await refused("TOO_LARGE", 431, READ, "{}", many);
    const answer = await h2(READ, Buffer.from("{}"), {
      ":authority": `127.0.0.1:${port}`,
      "content-type": "application/json",
      ...many,
    }).catch(() => undefined);
    if (answer !== undefined) expect(detailOfJson(answer.body).reason).toBe("TOO_LARGE");
  });
});

describe("what HTTP/1 itself refuses", () => {
  test.each([
    ["garbage", "\x16\x03\x01\x02\x00garbage\r\n\r\n"],
    ["a line that is no request", "HELLO\r\n\r\n"],
    ["two lengths", `POST ${READ} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ["a length and chunks", `POST ${READ} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`],
    ["a folded line", `POST ${READ} HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c\r\n\r\n`],
    ["a NUL in a field", `POST ${READ} HTTP/1.1\r\nhost: x\r\nx-a: \0\r\n\r\n`],
    ["PRIX", "PRIX * HTTP/1.1\r\n\r\n"],
  ])("%s gets 400 or is cut off", async (name, bytes) => {
    const answer = await exchange({ port }, bytes).catch((cause: unknown) => {
      if (name !== "PRIX") throw cause;
      return undefined;
    });
    if (answer === undefined) return;
    if (name === "a folded line") expect([400, 403]).toContain(answer.status);
    else expect(answer.status).toBe(400);
    expect(["MALFORMED", "HOST_FORBIDDEN"]).toContain(detailOfJson(answer.body).reason);
  });

  test("__proto__ as a field is a field", async () => {
    const answer = await exchange({ port }, post(READ, "{}", { ...auth, ["__proto__x"]: "1", constructor: "2" }));
    expect(answer.status).toBe(200);
  });

  test("CONNECT is refused in words", async () => {
    const answer = await exchange({ port }, `CONNECT evil.example:80 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`);
    expect(answer.status).toBe(405);
    expect(detailOfJson(answer.body).reason).toBe("METHOD_UNKNOWN");
  });

  test("Expect: 100-continue is answered only when the body is wanted", async () => {
    const bytes = post(READ, "{}", { ...auth, expect: "100-continue" });
    const served = await exchange({ port }, bytes);
    expect(served.status).toBe(100);
    const refusedHead = post(READ, "{}", { ...auth, authorization: "", expect: "100-continue" });
    expect((await exchange({ port }, refusedHead)).status).toBe(401);
  });
});

describe("gRPC and gRPC-Web", () => {
  const message = toBinary(ReadPathRequestSchema, create(ReadPathRequestSchema, { path: "a" }));
  const stale = toBinary(ReadPathRequestSchema, create(ReadPathRequestSchema, { path: "stale" }));
  type Case = [string, Reason, string, Uint8Array, IncomingHttpHeaders];
  const cases = (): Case[] => [
    ["a raised error", "PATH_NOT_FOUND", READ, encodeEnvelope(0, stale), {}],
    ["a message that does not decode", "MALFORMED", READ, encodeEnvelope(0, Buffer.from([0xff, 0xff, 0xff])), {}],
    ["half an envelope", "MALFORMED", READ, encodeEnvelope(0, message).subarray(0, 6), {}],
    ["no message", "MALFORMED", READ, new Uint8Array(), {}],
    ["two messages", "MALFORMED", READ, Buffer.concat([encodeEnvelope(0, message), encodeEnvelope(0, message)]), {}],
    ["a compressed envelope without its name", "MALFORMED", READ, encodeEnvelope(1, gzipSync(message)), {}],
    [
      "an unknown compression",
      "MEDIA_TYPE_UNSUPPORTED",
      READ,
      encodeEnvelope(1, brotliCompressSync(message)),
      { "grpc-encoding": "br" },
    ],
    ["a gzip bomb", "TOO_LARGE", READ, encodeEnvelope(1, gzipSync(Buffer.alloc(64 * MIB))), { "grpc-encoding": "gzip" }],
    ["a length beyond the limit", "TOO_LARGE", READ, Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1]), {}],
    ["17 MiB", "TOO_LARGE", SAVE, encodeEnvelope(0, Buffer.alloc(17 * MIB)), {}],
    ["a timeout that is none", "INVALID_REQUEST", READ, encodeEnvelope(0, message), { "grpc-timeout": "soon" }],
    ["no token", "UNAUTHENTICATED", READ, encodeEnvelope(0, message), { authorization: "Bearer gin_no" }],
    ["an unknown method", "METHOD_UNKNOWN", "/gin.v1.GinService/Nope", encodeEnvelope(0, message), {}],
    ["a method that is not served", "METHOD_UNKNOWN", "/gin.v1.GinService/Context", encodeEnvelope(0, new Uint8Array()), {}],
    ["another protocol", "UNSUPPORTED", READ, encodeEnvelope(0, message), { "gin-protocol": "9" }],
    ["a foreign origin", "ORIGIN_FORBIDDEN", READ, encodeEnvelope(0, message), { origin: "https://evil.example" }],
    [
      "unknown fields in JSON",
      "INVALID_REQUEST",
      READ,
      encodeEnvelope(0, Buffer.from('{"nope":1}')),
      { "content-type": "application/grpc+json" },
    ],
  ];

  test("gRPC: every refusal has its ErrorDetail in grpc-status-details-bin", async () => {
    for (const [name, reason, path, body, headers] of cases()) {
      const { trailers } = await h2(path, body, {
        ":authority": auth.host,
        "content-type": "application/grpc+proto",
        te: "trailers",
        authorization: auth.authorization,
        ...headers,
      });
      const found = new Headers(
        Object.entries(trailers).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
      );
      expectDetail(findTrailerError(found), reason, `gRPC: ${name}`);
    }
  });

  test("gRPC-Web: every refusal has its ErrorDetail in the trailer frame", async () => {
    for (const [name, reason, path, body, headers] of cases()) {
      const type = String(headers["content-type"] ?? "application/grpc+proto").replace("grpc", "grpc-web");
      const head = { ...auth, "content-length": String(body.length), ...strings(headers), "content-type": type };
      const answer = await exchange({ port }, post(path, body, head));
      expect(answer.status, name).toBe(200);
      const at = dechunk(answer);
      expect((at[0] ?? 0) & 0x80, name).toBe(0x80);
      expectDetail(findTrailerError(trailerParse(at.subarray(5))), reason, `gRPC-Web: ${name}`);
    }
  });

  function expectDetail(error: ConnectError | undefined, reason: Reason, name: string): void {
    expect(error, name).toBeInstanceOf(ConnectError);
    const detail = error?.details.find((one) => "type" in one && one.type === ErrorDetailSchema.typeName);
    if (detail === undefined || !("type" in detail)) throw new Error(`${name}: no ErrorDetail, but ${String(error)}`);
    expect({ name, reason: fromBinary(ErrorDetailSchema, detail.value).reason, code: error?.code }).toEqual({
      name,
      reason,
      code: REASONS[reason].code,
    });
  }
});

test("no token and no message body is in the log", () => {
  const secret = harness.token.slice(15, 58);
  expect(harness.log.lines.length).toBeGreaterThan(10);
  expect(harness.log.lines.filter((line) => line.includes(secret) || line.includes(harness.token))).toEqual([]);
});

function strings(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** The body of an answer that may be chunked. */
function dechunk(answer: RawAnswer): Buffer {
  if (answer.headers["transfer-encoding"] !== "chunked") return answer.body;
  const parts: Buffer[] = [];
  let rest = answer.body;
  for (;;) {
    const line = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.subarray(0, line).toString("latin1"), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(rest.subarray(line + 2, line + 2 + size));
    rest = rest.subarray(line + 2 + size + 2);
  }
}

/** One HTTP/2 call with headers as given. */
function h2(
  path: string,
  body: Uint8Array,
  headers: Record<string, unknown>,
): Promise<{ headers: IncomingHttpHeaders & { ":status"?: number }; trailers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const session = connectH2(`http://127.0.0.1:${port}`, {
      createConnection: () => createConnection(port, "127.0.0.1"),
      maxSessionMemory: 64,
    });
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("error", reject);
    stream.on("response", (given) => {
      head = given;
    });
    stream.on("trailers", (given) => {
      trailers = given;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      session.destroy();
      resolve({ headers: head, trailers, body: Buffer.concat(chunks) });
    });
    stream.on("close", () => reject(new Error(`closed with ${stream.rstCode}`)));
    stream.end(body);
  });
}
