import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect as connectH2, constants } from "node:http2";
import { createConnection, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { type Harness, start } from "./harness.ts";
import { detailOfJson, dial, drained, exchange, parseAnswer, post } from "./raw.ts";

const READ = "/gin.v1.GinService/ReadPath";
const EXPLAIN = "/gin.v1.GinService/Explain";

let harness: Harness | undefined;
afterEach(() => harness?.close());

/** A listener on a port, and headers that its calls need. */
async function tcp(options: Parameters<typeof start>[0] = {}) {
  harness = await start(options);
  const { port } = await harness.listener.listenTcp({ host: "127.0.0.1", port: 0 });
  return { harness, port, auth: { host: `127.0.0.1:${port}`, authorization: `Bearer ${harness.token}` } };
}

/** Waits until the listener's own count says so, which no event tells. */
async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { timeout: 60_000, interval: 5 }).toBe(true);
}

const openDescriptors = () => readdirSync("/proc/self/fd").length;

/** Writes a byte a turn, so that each arrives alone. */
async function dribble(socket: Socket, bytes: Uint8Array): Promise<void> {
  socket.setNoDelay(true);
  for (const byte of bytes) {
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** An HTTP/2 request, frame by frame: preface, SETTINGS, HEADERS by literals, DATA. */
function h2Bytes(port: number, token: string, body: string): Buffer {
  const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    return bytes.length < 127
      ? Buffer.concat([Buffer.from([bytes.length]), bytes])
      : Buffer.concat([Buffer.from([127, bytes.length - 127]), bytes]);
  };
  const field = (name: string, value: string) => Buffer.concat([Buffer.from([0]), text(name), text(value)]);
  const fields: [string, string][] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", READ],
    [":authority", `127.0.0.1:${port}`],
    ["content-type", "application/json"],
    ["authorization", `Bearer ${token}`],
  ];
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(1, 4, 1, Buffer.concat(fields.map(([name, value]) => field(name, value)))),
    frame(0, 1, 1, Buffer.from(body)),
  ]);
}

describe("slow and silent clients", () => {
  test("byte-at-a-time HTTP/1 is served", async () => {
    const { port, auth } = await tcp();
    const socket = await dial({ port });
    const all = drained(socket);
    await dribble(socket, post(READ, '{"path":"slow"}', auth));
    const answer = parseAnswer(await all);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body.toString()).path).toBe("slow");
  });

  test("byte-at-a-time HTTP/2 is served, and a lone P spins nothing", async () => {
    const { harness, port } = await tcp();
    const lone = await dial({ port });
    lone.write("P");
    const socket = await dial({ port });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    const busy = process.cpuUsage();
    await dribble(socket, h2Bytes(port, harness.token, '{"path":"slow-h2"}'));
    await until(() => Buffer.concat(chunks).includes('"path":"slow-h2"'));
    expect(harness.listener.stats().sessions).toBe(1);
    const { user } = process.cpuUsage(busy);
    expect(user).toBeLessThan(5_000_000);
    socket.destroy();
    lone.destroy();
  });

  test("a socket that says nothing, or only P, is closed after the sniffing time", async () => {
    const { harness, port } = await tcp({ limits: { sniffMs: 100 } });
    const silent = await Promise.all(
      ["", "P", "PR"].map(async (start) => {
        const socket = await dial({ port });
        if (start !== "") socket.write(start);
        return await drained(socket);
      }),
    );
    expect(silent.map((bytes) => bytes.length)).toEqual([0, 0, 0]);
    await until(() => harness.listener.stats().connections === 0);
  });

  test("half-sent headers are answered 408 in words", async () => {
    const { port } = await tcp({ limits: { headersMs: 300 } });
    const answer = await exchange({ port }, `POST ${READ} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-half: `);
    expect(answer.status).toBe(408);
    expect(detailOfJson(answer.body).reason).toBe("DEADLINE_EXCEEDED");
  });

  test("a body that does not come is answered in words on HTTP/1 and HTTP/2", async () => {
    const { port, auth } = await tcp({ limits: { bodyMs: 200 } });
    const head = post(READ, "{}", { ...auth, "content-length": "100" });
    const answer = await exchange({ port }, head);
    expect(answer.status).toBe(504);
    expect(detailOfJson(answer.body).reason).toBe("DEADLINE_EXCEEDED");
    const session = connectH2(`http://127.0.0.1:${port}`);
    const stream = session.request({
      ":method": "POST",
      ":path": READ,
      "content-type": "application/json",
      authorization: auth.authorization,
    });
    stream.write("{");
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(detailOfJson(Buffer.concat(chunks)).reason).toBe("DEADLINE_EXCEEDED");
    session.destroy();
  });

  test("an HTTP/2 session that asks for nothing goes", async () => {
    const { harness, port } = await tcp({ limits: { headersMs: 150 } });
    const session = connectH2(`http://127.0.0.1:${port}`);
    await new Promise((resolve) => session.once("close", resolve));
    expect(harness.listener.stats().sessions).toBe(0);
  });

  test("a client that never reads its answer is cut off and costs no more than it", async () => {
    const { harness, port, auth } = await tcp({ limits: { stallMs: 300 } });
    const socket = await dial({ port });
    socket.pause();
    socket.write(post(READ, '{"limit":16000000}', auth));
    await until(() => harness.listener.stats().running === 1);
    await until(() => harness.listener.stats().connections === 0);
    expect(harness.listener.stats().running).toBe(0);
    socket.destroy();
  });
});

describe("many", () => {
  test("pipelined and parallel calls on both versions, all answered right", async () => {
    const { harness, port, auth } = await tcp();
    const count = scaled(100);
    const pipeline = Buffer.concat(
      Array.from({ length: 20 }, (_, at) =>
        post(READ, `{"path":"p${at}"}`, { ...auth, connection: at === 19 ? "close" : "keep-alive" }),
      ),
    );
    const socket = await dial({ port });
    const all = drained(socket);
    socket.write(pipeline);
    const text = (await all).toString();
    for (let at = 0; at < 20; at++) expect(text).toContain(`"path":"p${at}"`);
    const session = connectH2(`http://127.0.0.1:${port}`);
    const answers = await Promise.all(
      Array.from({ length: count }, async (_, at) => {
        if (at % 2 === 0) return JSON.parse((await exchange({ port }, post(READ, `{"path":"c${at}"}`, auth))).body.toString());
        const stream = session.request({
          ":method": "POST",
          ":path": READ,
          "content-type": "application/json",
          authorization: auth.authorization,
        });
        stream.end(`{"path":"c${at}"}`);
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk);
        return JSON.parse(Buffer.concat(chunks).toString());
      }),
    );
    expect(answers.map((answer) => answer.path)).toEqual(Array.from({ length: count }, (_, at) => `c${at}`));
    session.destroy();
    await until(() => harness.listener.stats().connections === 0);
    expect(harness.listener.stats()).toEqual({ connections: 0, sessions: 0, running: 0 });
  });

  test("connections beyond the limit are closed; the socket has its own limit", async () => {
    const { harness, port } = await tcp({ limits: { maxConnections: 4 } });
    const path = `${harness.directory}/s.sock`;
    await harness.listener.listenSocket(path);
    const held = await Promise.all(Array.from({ length: 4 }, () => dial({ port })));
    await until(() => harness.listener.stats().connections === 4);
    const fifth = await dial({ port });
    expect((await drained(fifth)).length).toBe(0);
    const answer = await exchange({ path }, post(READ, "{}", {}));
    expect(answer.status).toBe(200);
    for (const socket of held) socket.destroy();
  });

  test("HTTP/2 sessions beyond the limit are closed", async () => {
    const { harness, port } = await tcp({ limits: { maxSessions: 3 } });
    const sessions = Array.from({ length: 3 }, () => connectH2(`http://127.0.0.1:${port}`));
    await until(() => harness.listener.stats().sessions === 3);
    const fourth = connectH2(`http://127.0.0.1:${port}`);
    fourth.on("error", () => {});
    await new Promise((resolve) => fourth.once("close", resolve));
    expect(harness.listener.stats().sessions).toBe(3);
    for (const session of sessions) session.destroy();
  });

  test("a session announces 64 streams", async () => {
    const { port } = await tcp();
    const session = connectH2(`http://127.0.0.1:${port}`);
    const settings = await new Promise<{ maxConcurrentStreams?: number; maxHeaderListSize?: number }>((resolve) =>
      session.once("remoteSettings", resolve),
    );
    expect(settings).toMatchObject({ maxConcurrentStreams: 64, maxHeaderListSize: 16384 });
    session.destroy();
  });

  test("a reset flood ends its sessions and gives every descriptor back", async () => {
    const { harness, port, auth } = await tcp();
    const before = openDescriptors();
    const floods = Array.from({ length: 4 }, () => flood(port, auth.authorization));
    const during = await exchange({ port }, post(READ, '{"path":"legit"}', auth));
    expect(during.status).toBe(200);
    const sent = await Promise.all(floods);
    await until(() => harness.listener.stats().connections === 0);
    expect(harness.listener.stats()).toEqual({ connections: 0, sessions: 0, running: 0 });
    await until(() => openDescriptors() <= before);
    expect(Math.min(...sent)).toBeGreaterThan(200);
    expect(harness.log.lines.filter((line) => line.includes("resets streams too fast")).length).toBe(4);
  });
});

/** Opens and resets streams until the session is gone; gives how many. */
async function flood(port: number, authorization: string): Promise<number> {
  const session = connectH2(`http://127.0.0.1:${port}`, { createConnection: () => createConnection(port, "127.0.0.1") });
  let gone = false;
  session.on("error", () => {});
  session.once("close", () => {
    gone = true;
  });
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  let sent = 0;
  while (!gone) {
    for (let burst = 0; burst < 50 && !session.destroyed && !session.closed; burst++) {
      const stream = session.request({ ":method": "POST", ":path": READ, "content-type": "application/json", authorization });
      stream.on("error", () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      sent++;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

describe("garbage", () => {
  test("random and mutated bytes of both protocols end their connection at most", async () => {
    const { harness, port, auth } = await tcp({
      limits: { headersMs: 400, bodyMs: 400, sniffMs: 200, keepAliveMs: 400, idleMs: 400 },
    });
    const random = chance("listener garbage");
    const good = [h2Bytes(port, harness.token, '{"path":"x"}'), post(READ, '{"path":"x"}', auth)];
    const before = openDescriptors();
    await Promise.all(
      Array.from({ length: scaled(150) }, async (_, at) => {
        const bytes = Buffer.from(good[at % 2] ?? "");
        const from = at % 3 === 0 ? 0 : at % 2 === 0 ? 24 : 4;
        for (let count = 1 + random.int(12); count > 0; count--) bytes[from + random.int(bytes.length - from)] = random.int(256);
        const socket = await dial({ port });
        const ended = drained(socket);
        socket.write(bytes.subarray(0, 1 + random.int(bytes.length)));
        if (random.int(2) === 0) socket.end();
        await ended;
      }),
    );
    expect((await exchange({ port }, post(READ, "{}", auth))).status).toBe(200);
    await until(() => harness.listener.stats().connections === 0 && harness.listener.stats().running === 0);
    await until(() => openDescriptors() <= before);
  });

  test("an HTTP/2 stream reset before its answer leaves no request running", async () => {
    const { harness, port, auth } = await tcp();
    const session = connectH2(`http://127.0.0.1:${port}`);
    const headers = { ":method": "POST", ":path": READ, "content-type": "application/json", authorization: auth.authorization };
    for (let count = 0; count < scaled(60); count++) {
      const stream = session.request(headers);
      stream.on("error", () => {});
      stream.end("{}");
      stream.close(constants.NGHTTP2_CANCEL);
      await once(stream, "close");
    }
    await until(() => harness.listener.stats().running === 0);
    session.destroy();
  });

  test("HTTP/2 CONNECT is refused in words", async () => {
    const { port } = await tcp();
    const session = connectH2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ":method": "CONNECT", ":authority": `127.0.0.1:${port}` });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(detailOfJson(Buffer.concat(chunks)).reason).toBe("METHOD_UNKNOWN");
    session.destroy();
  });
});

describe("ending", () => {
  test("drain lets what runs finish, refuses what comes, and takes the socket's name away", async () => {
    const { harness, port, auth } = await tcp();
    const path = `${harness.directory}/s.sock`;
    await harness.listener.listenSocket(path);
    const running = exchange({ port }, post(EXPLAIN, "{}", { ...auth, connection: "keep-alive" }));
    const session = connectH2(`http://127.0.0.1:${port}`);
    const open = await dial({ port });
    open.write(`POST ${READ} HTTP/1.1\r\n`);
    await until(() => harness.listener.stats().running === 1 && harness.listener.stats().connections === 3);
    const drained1 = harness.listener.drain(60_000);
    expect(readdirSync(harness.directory)).toEqual([]);
    await expect(dial({ port })).rejects.toThrow(/ECONNREFUSED/);
    const late = drained(open);
    open.write(post(READ, "{}", auth).subarray(`POST ${READ} HTTP/1.1\r\n`.length));
    const refusal = parseAnswer(await late);
    expect(refusal.status).toBe(503);
    expect(detailOfJson(refusal.body)).toMatchObject({ reason: "BUSY", retryable: true });
    harness.service.release();
    expect(await drained1).toBe(true);
    const answer = await running;
    expect(answer.status).toBe(200);
    expect(answer.headers.connection).toBe("close");
    session.destroy();
  });

  test("drain gives up after its time", async () => {
    const { harness, port, auth } = await tcp();
    const socket = await dial({ port });
    socket.write(post(EXPLAIN, "{}", auth));
    await until(() => harness.listener.stats().running === 1);
    expect(await harness.listener.drain(50)).toBe(false);
    await harness.listener.close();
    expect(harness.listener.stats().connections).toBe(0);
    await until(() => harness.listener.stats().running === 0);
    expect(harness.service.waiting[0]?.aborted).toBe(true);
  });

  test("a client that goes away aborts its request's signal", async () => {
    const { harness, port, auth } = await tcp();
    const socket = await dial({ port });
    socket.write(post(EXPLAIN, "{}", auth));
    await until(() => harness.service.waiting.length === 1);
    socket.destroy();
    await until(() => harness.service.waiting[0]?.aborted === true);
    await until(() => harness.listener.stats().running === 0);
  });

  test("a revoked token is refused at once and its running requests are told", async () => {
    const { harness, port, auth } = await tcp();
    harness.tokens.onRevoke((id) => harness.listener.endToken(id));
    const running = exchange({ port }, post(EXPLAIN, "{}", auth));
    await until(() => harness.service.waiting.length === 1);
    await harness.tokens.revoke(harness.tokenId);
    expect(harness.service.waiting[0]?.aborted).toBe(true);
    await running;
    const after = await exchange({ port }, post(READ, "{}", auth));
    expect(after.status).toBe(401);
  });
});
