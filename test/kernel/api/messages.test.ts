import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, type DescMethodUnary, type Message, toBinary } from "@bufbuild/protobuf";
import { beforeAll, expect, it } from "vitest";
import { LIMITS } from "../../../src/daemon/api/index.ts";
import { isReason, systemClock } from "../../../src/daemon/base/index.ts";
import { createListener, type Listener } from "../../../src/daemon/listener/index.ts";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { runCommand } from "../../helpers/process.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { repo } from "../../helpers/repo.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { type ApiSite, answerOf, caller, openApi } from "../../unit/api/site.ts";
import { quiet } from "../workspace/site.ts";

let site: ApiSite;
let url: string;

/** The api behind the real listener, as the daemon puts them together. */
beforeAll(async () => {
  site = await openApi();
  const listener: Listener = createListener({
    routes: (router) => site.api.routes(router),
    gate: { admit: () => caller("owner") },
    log: quiet,
    clock: systemClock,
  });
  atTeardown(() => listener.close());
  ({ url } = await listener.listenTcp({ host: "127.0.0.1", port: 0 }));
});

const methods = [...GinService.methods, ...AdminService.methods] as DescMethodUnary[];
const path = (method: DescMethodUnary): string => `/${method.parent.typeName}/${method.name}`;
const post = (where: string, contentType: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
  fetch(`${url}${where}`, {
    method: "POST",
    headers: { "content-type": contentType, ...headers },
    body: typeof body === "string" ? body : Buffer.from(body),
  });

/** A save whose whole JSON has exactly that many bytes. */
function saveOf(bytes: number, id: string): string {
  const body = (text: string) =>
    `{"request_id":"${id}","dry_run":true,"edits":[{"path":"big","expect":"absent","text":"${text}"}]}`;
  return body("x".repeat(bytes - body("").length));
}

it.each([
  ["Save", LIMITS.message_save_bytes.value],
  ["Call", LIMITS.message_save_bytes.value],
  ["ReadPath", LIMITS.message_bytes.value],
  ["AcquireLease", LIMITS.message_bytes.value],
] as const)("takes a %s message of its limit, and refuses one byte more, plain and packed", async (method, limit) => {
  const bodyOf = (bytes: number): string => {
    if (method === "Save") return saveOf(bytes, "r");
    if (method === "Call") return `{"save":${saveOf(bytes - 9, "r")}}`;
    const wrap = (text: string) => `{"workspace":"${text}"}`;
    return wrap("x".repeat(bytes - wrap("").length));
  };
  const where = `/gin.v1.GinService/${method}`;
  for (const bytes of [limit - 1, limit]) {
    const body = bodyOf(bytes);
    expect(Buffer.byteLength(body)).toBe(bytes);
    const { error } = await answerOf(await post(where, "application/json", body));
    expect(error?.reason, String(bytes)).not.toBe("TOO_LARGE");
  }
  const over = await answerOf(await post(where, "application/json", bodyOf(limit + 1)));
  expect([over.code, over.error.reason, over.error.facts.limit]).toEqual(["resource_exhausted", "TOO_LARGE", limit]);
  const bomb = await post(where, "application/json", gzipSync(bodyOf(limit + 1)), { "content-encoding": "gzip" });
  expect((await answerOf(bomb)).error.reason).toBe("TOO_LARGE");
});

/** Bytes with some of them changed, doubled or taken away. */
function mutated(roll: Chance, bytes: Uint8Array): Buffer {
  let out = Buffer.from(bytes);
  for (let times = 1 + roll.int(3); times > 0; times -= 1) {
    const at = roll.int(out.byteLength + 1);
    const piece = roll.pick([
      Buffer.alloc(0),
      Buffer.from(roll.bytes(1 + roll.int(4))),
      Buffer.from(roll.pick(['"', "{", "[", "null", "1e999", "\\ud800", ",", ":0"])),
      out.subarray(at, at + roll.int(9)),
    ]);
    out = Buffer.concat([out.subarray(0, at), piece, out.subarray(at + roll.int(4))]);
  }
  return out;
}

it("answers whatever it is sent, and every refusal carries a reason of the list", async () => {
  const roll = chance("api mutated messages");
  const sample = {
    repository: "r",
    workspace: "w",
    requestId: "id",
    path: "a",
    cursor: "c",
    limit: 9,
    edits: [{ path: "a", text: "b" }],
  };
  const fields = (method: DescMethodUnary) =>
    Object.fromEntries(Object.entries(sample).filter(([name]) => method.input.field[name] !== undefined));
  const seen = new Map<string, number>();
  for (let round = scaled(500); round > 0; round -= 1) {
    const method = roll.pick(methods.filter((one) => one.name !== "Shutdown"));
    const json = roll.maybe(0.5);
    const message = create(method.input, fields(method)) as Message;
    const plain = json
      ? Buffer.from(JSON.stringify({ ...fields(method), since_generation: roll.next() * 2 ** 60 }))
      : toBinary(method.input, message);
    const body = mutated(roll, plain);
    const answer = await post(path(method), json ? "application/json" : "application/proto", body);
    if (answer.status === 200) {
      await answer.arrayBuffer();
      continue;
    }
    const { error } = await answerOf(answer);
    expect(isReason(error?.reason ?? ""), `${method.name} ${body.toString("latin1")} ${JSON.stringify(error)}`).toBe(true);
    expect(error.reason, `${method.name} ${body.toString("base64")}`).not.toBe("INTERNAL");
    seen.set(error.reason, (seen.get(error.reason) ?? 0) + 1);
  }
  for (const reason of ["MALFORMED", "INVALID_REQUEST", "WORKSPACE_NOT_FOUND"]) expect([...seen.keys()]).toContain(reason);
  expect(site.logged).toEqual([]);
});

it("stops a read within a quarter of a second when its caller is gone", async () => {
  writeFileSync(join(site.root, "large"), Buffer.alloc(200 * 1_048_576, "0123456789abcdef\n"));
  const stop = new AbortController();
  const gone = fetch(`${url}/gin.v1.GinService/ReadPath`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"path":"large"}',
    signal: stop.signal,
  });
  await expect.poll(() => site.api.running()).toBe(1);
  stop.abort();
  await expect(gone).rejects.toThrow();
  // Five times the figure, as every timed test here.
  await expect.poll(() => site.api.running(), { timeout: 1_250, interval: 5 }).toBe(0);
  expect(site.logged).toEqual([]);
});

it("serves a client nobody here wrote: buf curl over gRPC with reflection reads and saves", async () => {
  const buf = (method: string, data: object) =>
    runCommand(
      join(repo, "node_modules/.bin/buf"),
      ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", JSON.stringify(data), `${url}/gin.v1.GinService/${method}`],
      { cwd: repo },
    );
  const saved = await buf("Save", { requestId: "buf", edits: [{ path: "buf.txt", expect: "absent", text: "hello\n" }] });
  expect(saved).toMatchObject({ code: 0 });
  const read = await buf("ReadPath", { path: "buf.txt" });
  expect(JSON.parse(read.stdout)).toMatchObject({
    text: "hello\n",
    sha256: createHash("sha256").update("hello\n").digest("hex"),
  });
});
