import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { startDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { runCommand } from "../../helpers/process.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { sha } from "../system/patient.ts";
import { bufCurl, curl, type Foreign, grpcJs, type Place, python, whyNoPython } from "./foreign.ts";

let root: string;
let places: { readonly "the socket": Place; readonly "TCP with a token": Place };

beforeAll(async () => {
  const made = tempHost();
  root = made.root;
  const daemon: TestDaemon = await startDaemon({ ...made, env: { XDG_RUNTIME_DIR: tempDir("run") } });
  const { endpoint, socket, token_file } = daemon.ready;
  places = { "the socket": { socket }, "TCP with a token": { endpoint, token: readFileSync(token_file, "utf8").trim() } };
});

/** What every client does: reads a file, saves it under a lease, is refused with a reason when it is stale, and asks what became of it. */
async function readsAndSaves(client: Foreign, name: string): Promise<void> {
  const path = `${name}/a.txt`;
  mkdirSync(join(root, name));
  writeFileSync(join(root, path), "one\n");
  const read = await client("ReadPath", { path });
  expect(read).toMatchObject({ answer: { path, text: "one\n", sha256: sha("one\n"), kind: "PATH_KIND_FILE", size: "4" } });
  const leased = await client("AcquireLease", { request_id: `${name}-lease`, paths: [name], ttl_ms: "60000" });
  const { lease_incarnation, lease_epoch } = (leased.answer?.lease ?? {}) as Record<string, string>;
  const fence = { lease_incarnation, lease_epoch };
  const edits = [{ path, expect: sha("one\n"), text: "two\n" }];
  const saved = await client("Save", { request_id: `${name}-save`, ...fence, edits });
  expect(saved).toMatchObject({ answer: { paths: [{ path, sha256: sha("two\n"), size: "4" }], replayed: false } });
  expect(readFileSync(join(root, path), "utf8")).toBe("two\n");
  const again = await client("Save", { request_id: `${name}-save`, ...fence, edits });
  expect(again).toMatchObject({ answer: { replayed: true, checkpoint: saved.answer?.checkpoint } });
  const stale = await client("Save", { request_id: `${name}-stale`, ...fence, edits });
  expect(stale.refusal).toContain("STALE_CONTENT");
  const outcome = await client("RequestOutcome", { target_request_id: `${name}-save` });
  expect(outcome).toMatchObject({ answer: { outcome: "OUTCOME_COMMITTED", operation: "Save" } });
  expect(await client("ReadPath", { path })).toMatchObject({ answer: { text: "two\n" } });
}

describe.each(["the socket", "TCP with a token"] as const)("clients nobody here wrote, on %s", (place) => {
  const named = (client: string): string => `${client}-${place === "the socket" ? "socket" : "tcp"}`;

  it("buf curl over gRPC with reflection reads and saves", async () => {
    await readsAndSaves(bufCurl(places[place]), named("buf"));
  });

  it("plain curl with Connect JSON reads and saves", async (ctx) => {
    const found = await runCommand("sh", ["-c", "command -v curl"]);
    if (found.code !== 0) return ctx.skip("curl is not installed");
    await readsAndSaves(curl(places[place]), named("curl"));
    return undefined;
  });

  it("grpc-js reads and saves", async () => {
    await readsAndSaves(grpcJs(places[place]), named("grpc-js"));
  });

  it("python3-grpcio reads and saves", async (ctx) => {
    const reason = await whyNoPython();
    if (reason !== undefined) return ctx.skip(`no gRPC client in Python here: ${reason}`);
    await readsAndSaves(await python(places[place]), named("python"));
    return undefined;
  });
});
