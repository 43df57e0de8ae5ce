import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  EngineError,
  JsonClient,
  type JsonObject,
  NotSentError,
  UnknownOutcomeError,
  UsageError,
} from "../../../src/clients/sdk/index.ts";
import { ErrorDetailSchema } from "../../../src/gen/gin/v1/common_pb.ts";
import { tempDir } from "../../helpers/temp.ts";
import { type FakeDaemon, fakeDaemon, type Reply, refusal, type Seen } from "./fake-daemon.ts";

const SAVE = { save: { edits: [{ path: "a", expect: "absent", text: "x" }] } };

function client(daemon: Pick<FakeDaemon, "socketPath">, more: object = {}): JsonClient {
  return new JsonClient({ target: { socketPath: daemon.socketPath }, client: "test", ...more });
}

async function thrown(attempt: Promise<unknown>): Promise<unknown> {
  return await attempt.then(
    () => "no error",
    (error: unknown) => error,
  );
}

function idOf(seen: Seen | undefined): unknown {
  return (seen?.json.save as JsonObject | undefined)?.request_id;
}

describe("what is sent", () => {
  test("one Request to Call, with the headers of the contract", async () => {
    const daemon = await fakeDaemon(() => ({ json: { read_path: { text: "hi" } } }));
    const gin = client(daemon, { principal: "alice", token: "gin_x_y", timeoutMs: 1500 });
    expect(await gin.call({ read_path: { path: "a" } })).toEqual({ read_path: { text: "hi" } });
    const [seen] = daemon.seen;
    expect(seen?.path).toBe("/gin.v1.GinService/Call");
    expect(seen?.json).toEqual({ read_path: { path: "a" } });
    expect(seen?.headers).toMatchObject({
      "content-type": "application/json",
      "gin-protocol": "1",
      "gin-client": "test/0.1.0",
      "gin-principal": "alice",
      authorization: "Bearer gin_x_y",
      "connect-timeout-ms": "1500",
      "connect-protocol-version": "1",
    });
    expect(gin.serverVersion).toBe("0.1.0");
    gin.close();
  });

  test("a mutation gets a request id, a read and a dry run do not, and a given one is kept", async () => {
    const daemon = await fakeDaemon(() => ({ json: { save: {}, read_path: {} } }));
    const gin = client(daemon);
    await gin.run("save", { edits: [] });
    await gin.run("save", { edits: [], request_id: "mine" });
    await gin.run("save", { edits: [], dry_run: true });
    await gin.run("read_path", { path: "a" });
    const messages = daemon.seen.map(({ json }) => Object.values(json)[0] as JsonObject);
    expect(messages[0]?.request_id).toMatch(/^rq_/);
    expect(messages.slice(1)).toEqual([{ edits: [], request_id: "mine" }, { edits: [], dry_run: true }, { path: "a" }]);
    gin.close();
  });

  test("admin RPCs go to their own path, and calls share one connection", async () => {
    const daemon = await fakeDaemon(() => ({ json: { pid: "7" } }));
    const gin = client(daemon);
    expect(await gin.admin("Status")).toEqual({ pid: "7" });
    await gin.admin("Status");
    expect(daemon.seen.map(({ path, connection }) => [path, connection])).toEqual([
      ["/gin.v1.AdminService/Status", 0],
      ["/gin.v1.AdminService/Status", 0],
    ]);
    gin.close();
  });

  test("anything but one operation is the caller's mistake and is not sent", async () => {
    const daemon = await fakeDaemon(() => ({ json: {} }));
    const gin = client(daemon);
    for (const request of [{}, { read_path: {}, save: {} }, { read_path: "a" }] as JsonObject[]) {
      expect(await thrown(gin.call(request))).toBeInstanceOf(UsageError);
    }
    expect(daemon.seen).toEqual([]);
  });
});

describe("errors of the engine", () => {
  test("Response.error is given by call and thrown by run, with the request id", async () => {
    const error = {
      reason: "STALE_CONTENT",
      message: "a changed",
      facts: { paths: [] },
      next_call: { save: {} },
      retry_after_ms: "5",
    };
    const daemon = await fakeDaemon(() => ({ json: { error } }));
    const gin = client(daemon);
    expect(await gin.call(SAVE)).toEqual({ error });
    const refused = await thrown(gin.run("save", SAVE.save));
    expect(refused).toBeInstanceOf(EngineError);
    expect((refused as EngineError).detail).toMatchObject({
      reason: "STALE_CONTENT",
      message: "a changed",
      retryAfterMs: 5,
      nextCall: { save: {} },
    });
    expect((refused as EngineError).requestId).toBe(idOf(daemon.seen[1]));
    gin.close();
  });

  test("a Connect error's ErrorDetail is read from its debug form, and from its bytes where there is none", async () => {
    const detail = create(ErrorDetailSchema, {
      reason: "UNAUTHENTICATED",
      message: "no token",
      suggestion: "send one",
      facts: { n: 1 },
    });
    const value = Buffer.from(toBinary(ErrorDetailSchema, detail)).toString("base64");
    const replies: Reply[] = [
      refusal("BUSY", "draining"),
      { status: 401, json: { code: "unauthenticated", message: "no token", details: [{ type: "gin.v1.ErrorDetail", value }] } },
    ];
    const daemon = await fakeDaemon(() => replies.shift() ?? "break");
    const gin = client(daemon);
    expect(await thrown(gin.call(SAVE))).toMatchObject({
      detail: { reason: "BUSY", suggestion: "do this" },
      code: "invalid_argument",
    });
    expect(await thrown(gin.call(SAVE))).toMatchObject({
      detail: { reason: "UNAUTHENTICATED", message: "no token", suggestion: "send one", facts: { n: 1 } },
      code: "unauthenticated",
    });
    gin.close();
  });
});

describe.each([
  ["over a kept-alive connection", false],
  ["over a connection of its own", true],
])("no answer, %s", (_how, oneShot) => {
  const client = (daemon: Pick<FakeDaemon, "socketPath">, more: object = {}): JsonClient =>
    new JsonClient({ target: { socketPath: daemon.socketPath }, client: "test", oneShot, ...more });

  test("without a daemon nothing was sent, whatever was asked", async () => {
    const gin = client({ socketPath: `${tempDir()}/none.sock` });
    for (const request of [{ read_path: {} }, SAVE]) {
      const error = await thrown(gin.call(request));
      expect(error).toBeInstanceOf(NotSentError);
      expect(error).toMatchObject({ sent: false, code: "ENOENT" });
    }
  });

  test("a broken connection loses a read, and leaves a mutation unknown under the id that was sent", async () => {
    const daemon = await fakeDaemon(() => "break");
    const read = await thrown(client(daemon).call({ read_path: {} }));
    expect(read).toBeInstanceOf(NotSentError);
    expect(read).toMatchObject({ sent: true });
    const save = await thrown(client(daemon).call(SAVE));
    expect(save).toBeInstanceOf(UnknownOutcomeError);
    expect(save).toMatchObject({ requestId: idOf(daemon.seen[1]), recorded: true });
    const release = await thrown(client(daemon).call({ release_lease: { lease_id: "ls_1" } }));
    expect(release).toMatchObject({ name: "UnknownOutcomeError", recorded: false });
    expect(await thrown(client(daemon).call({ save: { dry_run: true, edits: [] } }))).toBeInstanceOf(NotSentError);
    expect(await thrown(client(daemon).admin("CreateToken"))).toBeInstanceOf(UnknownOutcomeError);
    expect(await thrown(client(daemon).admin("Status"))).toBeInstanceOf(NotSentError);
  });

  test("an answer that no gin daemon gives is no answer", async () => {
    const replies: Reply[] = [
      { bytes: Buffer.from("<html>"), type: "text/html" },
      { bytes: Buffer.from("{"), type: "application/json" },
      { json: [1] },
      { json: { read_path: {} } },
      { json: { oops: true }, status: 502 },
    ];
    const daemon = await fakeDaemon(() => replies.shift() ?? "break");
    for (let at = 0; at < 5; at++) {
      const error = await thrown(client(daemon).run("save", SAVE.save));
      expect(error).toBeInstanceOf(UnknownOutcomeError);
      expect(error).toMatchObject({ code: "NOT_GIN" });
    }
    const other = await fakeDaemon(() => ({ json: { error: "not found" }, status: 404 }));
    expect(await thrown(client(other).run("save", SAVE.save))).toBeInstanceOf(NotSentError);
  });

  test("a deadline and a cancellation end the wait", async () => {
    const daemon = await fakeDaemon(() => "hang");
    const gin = client(daemon, { timeoutMs: 20 });
    expect(await thrown(gin.run("save", SAVE.save))).toMatchObject({ name: "UnknownOutcomeError", code: "TIMEOUT" });
    expect(await thrown(gin.run("read_path"))).toMatchObject({ name: "NotSentError", code: "TIMEOUT", sent: true });
    const before = AbortSignal.abort();
    expect(await thrown(gin.run("save", SAVE.save, { signal: before }))).toMatchObject({
      name: "NotSentError",
      code: "ABORTED",
      sent: false,
    });
    const seen = daemon.seen.length;
    const abort = new AbortController();
    const pending = thrown(gin.run("save", SAVE.save, { signal: abort.signal, timeoutMs: 0 }));
    await expect.poll(() => daemon.seen.length).toBe(seen + 1);
    abort.abort();
    expect(await pending).toMatchObject({ name: "UnknownOutcomeError", code: "ABORTED" });
    gin.close();
  });

  test("a principal that no header can carry is refused before anything is sent", async () => {
    const daemon = await fakeDaemon(() => ({ json: { save: {} } }));
    expect(await thrown(client(daemon, { principal: "a\nb" }).run("save", SAVE.save))).toMatchObject({
      name: "NotSentError",
      sent: false,
    });
    expect(daemon.seen).toEqual([]);
  });
});

describe("kept-alive connections", () => {
  test("a connection that was closed while idle is replaced once, with the same request id", async () => {
    let posts = 0;
    const daemon = await fakeDaemon(() => (++posts === 2 ? "break" : { json: { save: { no_change: true } } }));
    const gin = client(daemon);
    await gin.run("save", SAVE.save);
    expect(await gin.run("save", SAVE.save)).toEqual({ no_change: true });
    expect(daemon.seen.map(({ connection }) => connection)).toEqual([0, 0, 1]);
    expect(idOf(daemon.seen[1])).toBe(idOf(daemon.seen[2]));
    gin.close();
  });

  test("when the daemon is gone at the second try, a mutation stays unknown: the first may have arrived", async () => {
    let posts = 0;
    const daemon = await fakeDaemon(() => {
      if (++posts === 1) return { json: { save: {} } };
      void daemon.stop();
      return "break";
    });
    const gin = client(daemon);
    await gin.run("save", SAVE.save);
    expect(await thrown(gin.run("save", SAVE.save))).toBeInstanceOf(UnknownOutcomeError);
  });
});
