import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, it } from "vitest";
import { EngineError, JsonClient, type JsonObject } from "../../../src/clients/sdk/index.ts";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { createListener } from "../../../src/daemon/listener/index.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { caller, openApi } from "../../unit/api/site.ts";
import { virtualClock } from "../../unit/lease/virtual-clock.ts";
import { post, run, runtime, tcp } from "../daemon/daemon-process.ts";
import { recordingLog } from "./harness.ts";
import { bufCurlStream, grpcJsStream } from "./watch-foreign.ts";

/** A daemon with a TCP port, and how to reach it. */
async function serve(settings: Record<string, unknown> = {}, mode: "foreground" | "on_demand" = "foreground") {
  const { root, host } = tempHost();
  const started = run({ host, mode, roots: [root], settings: { listen: "127.0.0.1:0", ...settings } }, { env: runtime() });
  const ready = await started.ready;
  return { ...started, ready, root, socket: ready.socket };
}

let count = 0;
async function save(socket: string, path = `f${++count}.txt`): Promise<string> {
  const edits = [{ path, expect: "absent", text: `${path}\n` }];
  const answer = await post({ socket }, "GinService/Save", { request_id: `save-${++count}`, edits });
  expect(answer.reason).toBe("");
  return String(answer.body.checkpoint);
}

function watch(socket: string, request: JsonObject = {}, signal?: AbortSignal): AsyncGenerator<JsonObject> {
  const client = new JsonClient({ target: { socketPath: socket } });
  const messages = client.watch({ kinds: ["WATCH_KIND_CHECKPOINT"], ...request }, { signal });
  atTeardown(() => void messages.return(undefined));
  return messages;
}

/** The checkpoint a message tells; empty for any other message. */
const checkpointOf = (message: unknown): JsonObject => (message as { checkpoint?: JsonObject } | undefined)?.checkpoint ?? {};

const idOf = (message: unknown): string => String(checkpointOf(message).id ?? "");

async function reasonOf(messages: AsyncGenerator<JsonObject>): Promise<string> {
  try {
    for await (const _message of messages);
  } catch (thrown) {
    if (thrown instanceof EngineError) return thrown.detail.reason;
    throw thrown;
  }
  return "";
}

it("50 streams beside saves each tell every checkpoint once, in order", async () => {
  const { socket } = await serve();
  const streams = Array.from({ length: 50 }, () => watch(socket));
  for (const stream of streams) expect((await stream.next()).value).toHaveProperty("ready");
  const wanted: string[] = [];
  const savers = Array.from({ length: 4 }, (_, saver) =>
    (async () => {
      for (let index = 0; index < 10; index += 1) await save(socket, `${saver}/${index}.txt`);
    })(),
  );
  await Promise.all(savers);
  const client = new JsonClient({ target: { socketPath: socket } });
  atTeardown(() => client.close());
  const { checkpoints } = await client.run("list_checkpoints", { limit: 1_000 });
  for (const one of (checkpoints as JsonObject[]).toReversed()) if (one.cause === "CAUSE_SAVE") wanted.push(String(one.id));
  expect(wanted.length).toBe(40);
  for (const stream of streams) {
    const seen: string[] = [];
    while (seen.length < wanted.length) {
      const { value } = await stream.next();
      if (checkpointOf(value).cause === "CAUSE_SAVE") seen.push(idOf(value));
    }
    expect(seen).toEqual(wanted);
  }
});

it("ends within a second of its token's revocation, with UNAUTHENTICATED, on every protocol and HTTP version", async () => {
  const { socket, ready } = await serve();
  const forms: readonly (readonly [string, (token: string) => Transport])[] = [
    ["connect h1", (token) => createConnectTransport({ ...at(token), httpVersion: "1.1", useBinaryFormat: true })],
    ["connect h2", (token) => createConnectTransport({ ...at(token), httpVersion: "2" })],
    ["grpc", (token) => createGrpcTransport(at(token))],
    ["grpc-web h1", (token) => createGrpcWebTransport({ ...at(token), httpVersion: "1.1" })],
    ["grpc-web h2", (token) => createGrpcWebTransport({ ...at(token), httpVersion: "2" })],
  ];
  const at = (token: string) => ({
    baseUrl: ready.endpoint,
    interceptors: [
      (next: (request: never) => Promise<never>) => (request: never) => {
        (request as { header: Headers }).header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ] as never,
  });
  for (const [name, transport] of forms) {
    const made = await post({ socket }, "AdminService/CreateToken", {
      request_id: `make-${name.replace(/ /g, "-")}`,
      principal: "agent-7",
      scopes: ["read"],
    });
    const { token, info } = made.body as { token: string; info: { id: string } };
    const messages = createClient(GinService, transport(token)).watch({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.event.case, name).toBe("ready");
    const id = await save(socket);
    for (;;) {
      const { event } = (await messages.next()).value ?? {};
      if (event?.case === "checkpoint" && event.value.id === id) break;
    }
    const began = performance.now();
    // Listened to from the start: it comes before the revocation's own answer.
    const ended = expect(messages.next(), name).rejects.toThrow("unauthenticated");
    await post({ socket }, "AdminService/RevokeToken", { request_id: `end-${name.replace(/ /g, "-")}`, id: info.id });
    await ended;
    const tookMs = performance.now() - began;
    console.log(`${name}: ended ${tookMs.toFixed(0)} ms after the revocation was asked for`);
    expect(tookMs, name).toBeLessThan(1_000);
  }
});

it("a drain ends streams at once with BUSY, and waits for none", async () => {
  const { socket, child, ended } = await serve();
  const stream = watch(socket);
  await stream.next();
  const began = performance.now();
  child.kill("SIGTERM");
  expect(await reasonOf(stream)).toBe("BUSY");
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - began).toBeLessThan(8_000);
});

it("a watching client keeps a daemon that was started on demand; it ends after the client left", async () => {
  const { socket, ended } = await serve({ idle_ms: 1_000 }, "on_demand");
  const leaving = new AbortController();
  const stream = watch(socket, {}, leaving.signal);
  await stream.next();
  const first = await Promise.race([ended.then(() => "ended"), wait(2_500).then(() => "there")]);
  expect(first).toBe("there");
  const last = stream.next();
  leaving.abort();
  expect(await last).toEqual({ done: true, value: undefined });
  expect(await ended).toEqual({ code: 0, signal: null });
});

it("Status lists who is connected: name, principal, transport, counts, and a stream as running", async () => {
  const { socket, ready } = await serve();
  const stream = new JsonClient({ target: { socketPath: socket }, client: "watcher", principal: "ann" }).watch({});
  atTeardown(() => void stream.return(undefined));
  await stream.next();
  const { endpoint, token } = tcp(ready);
  const caller = new JsonClient({ target: { url: new URL(endpoint) }, token, client: "caller" });
  await caller.run("capabilities");
  await caller.run("capabilities");
  const { body } = await post({ socket }, "AdminService/Status", {});
  const clients = body.clients as JsonObject[];
  const named = (name: string) => clients.find((one) => String(one.client).startsWith(`${name}/`));
  expect(named("watcher")).toMatchObject({ principal: "ann", transport: "socket", requests: "1", running: "1", idle_ms: "0" });
  expect(named("caller")).toMatchObject({ principal: "local", transport: "tcp", requests: "2", running: "0" });
  expect(clients.length).toBe(3);
  caller.close();
  await stream.return(undefined);
  await expect
    .poll(async () => ((await post({ socket }, "AdminService/Status", {})).body.clients as JsonObject[]).length)
    .toBe(1);
});

it("clients nobody here wrote read the stream: grpc-js and buf curl, on the socket and over TCP", async () => {
  const { socket, ready } = await serve();
  const before = await watch(socket).next();
  const since = String(before.value?.cursor);
  const id = await save(socket);
  for (const place of [{ socket }, tcp(ready)]) {
    const own = "token" in place ? String((await ownCursor(place)).cursor) : since;
    const next = "token" in place ? await save(socket) : id;
    for (const read of [grpcJsStream, bufCurlStream]) {
      const messages = await read(place, { since: own, kinds: ["WATCH_KIND_CHECKPOINT"] }, 2);
      expect(
        messages.map((message) => (message.ready === undefined ? idOf(message) : "ready")),
        read.name,
      ).toContain(next);
    }
  }
});

/** A cursor of the token's own principal: cursors of others do not open. */
async function ownCursor({ endpoint, token }: { endpoint: string; token: string }): Promise<JsonObject> {
  const stream = new JsonClient({ target: { url: new URL(endpoint) }, token }).watch({ kinds: ["WATCH_KIND_CHECKPOINT"] });
  const { value } = await stream.next();
  await stream.return(undefined);
  return value ?? {};
}

it("a reader that takes nothing makes the daemon read nothing for it; when it reads on, it misses nothing", async () => {
  const clock = virtualClock();
  const site = await openApi({ clock });
  /** The stream's next look at the store, and turns of the loop in which sockets take what they can. */
  const look = async (): Promise<void> => {
    clock.advance(500);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  let rows = 0;
  const reader = site.store.read as { -readonly [K in keyof typeof site.store.read]: (typeof site.store.read)[K] };
  const real = reader.checkpointsAfter;
  reader.checkpointsAfter = (workspace, generation, limit) => {
    const found = real(workspace, generation, limit);
    rows += found.length;
    return found;
  };
  const edits = (turn: number) =>
    Array.from({ length: 20 }, (_, index) => ({
      path: `${"long-name-".repeat(20)}${turn}-${index}`,
      expect: "absent",
      text: "x",
    }));
  const listener = createListener({
    routes: (router) => site.api.routes(router),
    gate: { admit: () => caller("owner") },
    log: recordingLog(),
    clock: systemClock,
  });
  atTeardown(() => listener.close());
  const socketPath = join(tempDir("slow"), "s");
  await listener.listenSocket(socketPath);
  const socket = await slowWatch(socketPath);
  // About 10 kB an event: far more in all than sockets hold.
  const total = 150;
  for (let turn = 0; turn < total; turn += 1) {
    const saved = await site.call("Save", { request_id: `slow-${turn}`, edits: edits(turn) });
    expect(saved.error).toBeUndefined();
  }
  for (let looks = 0; looks < 100 && rows <= 10; looks += 1) await look();
  expect(rows).toBeGreaterThan(10);
  let before = rows;
  for (let quiet = 0; quiet < 50; quiet += 1) {
    await look();
    if (rows !== before) quiet = 0;
    before = rows;
  }
  console.log(`${rows} of ${total} checkpoints were read for a reader that takes nothing`);
  expect(rows).toBeLessThan(total / 2);
  let reading = true;
  const looking = (async () => {
    while (reading) await look();
  })();
  const seen = await readOn(socket, total).finally(() => {
    reading = false;
  });
  await looking;
  const listed = (await site.call("ListCheckpoints", { limit: 1_000 })).body.checkpoints as { id: string }[];
  expect(seen).toEqual(listed.toReversed().map(({ id }) => id));
});

/** Opens a stream over a raw connection that reads the answer's beginning and then takes nothing. */
async function slowWatch(socketPath: string): Promise<Socket> {
  const socket = connect(socketPath);
  atTeardown(() => void socket.destroy());
  await once(socket, "connect");
  const body = Buffer.from('\0\0\0\0\x22{"kinds":["WATCH_KIND_CHECKPOINT"]}', "latin1");
  body.writeUInt32BE(body.length - 5, 1);
  socket.write(
    `POST /gin.v1.GinService/Watch HTTP/1.1\r\nhost: x\r\ncontent-type: application/connect+json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body);
  await once(socket, "readable");
  return socket;
}

/** Reads checkpoint ids until there are so many. */
async function readOn(socket: Socket, total: number): Promise<string[]> {
  const ids: string[] = [];
  let text = "";
  while (ids.length < total) {
    const chunk: Buffer | null = socket.read() as Buffer | null;
    if (chunk === null) {
      await once(socket, "readable");
      continue;
    }
    text += chunk.toString("latin1");
    // Ids stand whole or not at all between two chunks of the transfer: what is cut is read with the next.
    const found = [...text.matchAll(/"checkpoint":\{"id":"(ck_[0-9a-v]{20})"/g)];
    ids.push(...found.map((match) => match[1] ?? ""));
    const end = found.at(-1);
    if (end !== undefined) text = text.slice((end.index ?? 0) + end[0].length);
  }
  return ids;
}
