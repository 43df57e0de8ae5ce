import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient as createConnectClient } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createClient, EngineError, NotSentError, UnknownOutcomeError } from "../../../src/clients/sdk/index.ts";
import { StatusResponseSchema } from "../../../src/gen/gin/v1/admin_pb.ts";
import { RequestSchema, ResponseSchema } from "../../../src/gen/gin/v1/call_pb.ts";
import { ReadPathRequestSchema, ReadPathResponseSchema } from "../../../src/gen/gin/v1/read_pb.ts";
import { SaveRequestSchema, SaveResponseSchema } from "../../../src/gen/gin/v1/save_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { fakeDaemon, type Reply, refusal } from "./fake-daemon.ts";

const PROTO = "application/proto";

test("typed calls speak binary protobuf to each RPC's own path", async () => {
  const answer = create(ReadPathResponseSchema, { path: "a", size: 2n ** 60n, text: "hi" });
  const daemon = await fakeDaemon(({ path }) => ({
    bytes: path.endsWith("/Status")
      ? toBinary(StatusResponseSchema, create(StatusResponseSchema, { pid: 7n }))
      : toBinary(ReadPathResponseSchema, answer),
    type: PROTO,
  }));
  const gin = await createClient({ target: { socketPath: daemon.socketPath } });
  const read = await gin.readPath({ path: "a", limit: 10 });
  expect([read.size, read.text]).toEqual([2n ** 60n, "hi"]);
  expect((await gin.admin.status({})).pid).toBe(7n);
  expect(daemon.seen.map(({ path }) => path)).toEqual(["/gin.v1.GinService/ReadPath", "/gin.v1.AdminService/Status"]);
  expect(daemon.seen[0]?.headers).toMatchObject({ "content-type": PROTO, "gin-protocol": "1", "gin-client": "gin-sdk/0.1.0" });
  expect(fromBinary(ReadPathRequestSchema, daemon.seen[0]?.body ?? new Uint8Array())).toMatchObject({
    path: "a",
    limit: 10,
    requestId: "",
  });
  gin.close();
});

test("a byte order mark at the start of a file's text is kept", async () => {
  const bytes = toBinary(ReadPathResponseSchema, create(ReadPathResponseSchema, { text: "\ufeffhi" }));
  const daemon = await fakeDaemon(() => ({ bytes, type: PROTO }));
  const gin = await createClient({ target: { socketPath: daemon.socketPath } });
  expect((await gin.readPath({ path: "a" })).text).toBe("\ufeffhi");
  gin.close();
});

test("mutations get a request id, also inside Call; reads do not", async () => {
  const daemon = await fakeDaemon(({ path }) => ({
    bytes: path.endsWith("/Call")
      ? toBinary(ResponseSchema, create(ResponseSchema, {}))
      : toBinary(SaveResponseSchema, create(SaveResponseSchema, {})),
    type: PROTO,
  }));
  const gin = await createClient({ target: { socketPath: daemon.socketPath } });
  await gin.save({ edits: [{ path: "a", expect: "absent" }] });
  await gin.save({ requestId: "mine" });
  await gin.call({ operation: { case: "save", value: { edits: [] } } });
  await gin.call({ operation: { case: "readPath", value: { path: "a" } } });
  const bodies = daemon.seen.map(({ body }) => body);
  expect(fromBinary(SaveRequestSchema, bodies[0] ?? new Uint8Array()).requestId).toMatch(/^rq_/);
  expect(fromBinary(SaveRequestSchema, bodies[1] ?? new Uint8Array()).requestId).toBe("mine");
  expect(fromBinary(RequestSchema, bodies[2] ?? new Uint8Array()).operation.value?.requestId).toMatch(/^rq_/);
  expect(fromBinary(RequestSchema, bodies[3] ?? new Uint8Array()).operation.value?.requestId).toBe("");
  gin.close();
});

test("its failures are those of the JSON client", async () => {
  const replies: Reply[] = [refusal("LEASE_HELD", "held"), "break", "break", { bytes: Buffer.from([0xff]), type: PROTO }];
  const daemon = await fakeDaemon(() => replies.shift() ?? "break");
  const target = { target: { socketPath: daemon.socketPath } };
  await expect((await createClient(target)).save({})).rejects.toBeInstanceOf(EngineError);
  await expect((await createClient(target)).save({})).rejects.toBeInstanceOf(UnknownOutcomeError);
  await expect((await createClient(target)).readPath({})).rejects.toBeInstanceOf(NotSentError);
  await expect((await createClient(target)).save({})).rejects.toMatchObject({ name: "UnknownOutcomeError", code: "NOT_GIN" });
});

test("the Connect transport speaks to the same socket with the same headers", async () => {
  const daemon = await fakeDaemon(() => ({
    bytes: toBinary(ReadPathResponseSchema, create(ReadPathResponseSchema, { text: "t" })),
    type: PROTO,
  }));
  const gin = await createClient({ target: { socketPath: daemon.socketPath }, principal: "alice" });
  const connect = createConnectClient(GinService, await gin.transport());
  expect((await connect.readPath({ path: "a" })).text).toBe("t");
  expect(daemon.seen[0]?.headers).toMatchObject({ "gin-principal": "alice", "gin-protocol": "1" });
});
