import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMetadata } from "../../src/paths/index.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { startBridge } from "./bridge.ts";
import { startRelay } from "./relay.ts";
import { onDemand, startSite } from "./setup.ts";

const save = (path: string, id?: string) => ({
  edits: [{ path, expect: "absent", text: path }],
  ...(id !== undefined && { request_id: id }),
});

const outcomeOf = (id: string) => ({ request: { request_outcome: { target_request_id: id } } });

describe("the daemon is lost", () => {
  it("in a save that arrived: unknown, with the id to ask about, and asking tells", async () => {
    const site = await startSite();
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint]);
    await bridge.initialize("2025-11-25", "loser");
    relay.cutAnswers();
    const lost = await bridge.tool("gin_save", save("arrived"));
    expect(lost.isError).toBe(true);
    const error = lost.json.bridge_error as { kind: string; request_id: string; suggestion: string; next_call: object };
    expect(error.kind).toBe("unknown_outcome");
    expect(error.request_id).toMatch(/^rq_/);
    expect(error.suggestion).toContain(`gin outcome ${error.request_id} --of mcp-loser`);
    relay.passAnswers();
    expect((await bridge.tool("gin_call", { request: error.next_call })).json).toMatchObject({
      request_outcome: { outcome: "OUTCOME_COMMITTED" },
    });
    // The identical request never runs twice.
    expect((await bridge.tool("gin_save", save("arrived", error.request_id))).json).toMatchObject({ replayed: true });
  });

  it("killed in mid-write: unknown; after it is back, asking tells that it did not happen", async () => {
    const site = await startSite();
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint]);
    await bridge.initialize();
    expect((await bridge.tool("gin_read", { path: "a.txt" })).isError).toBe(false);
    site.daemon.child.kill("SIGSTOP");
    const writing = bridge.tool("gin_save", save("never", "mid-write"));
    const reading = bridge.tool("gin_read", { path: "a.txt" });
    await relay.arrived('"save"');
    await relay.arrived("read_path", 2);
    await site.daemon.kill();
    expect((await writing).json).toMatchObject({ bridge_error: { kind: "unknown_outcome", request_id: "mid-write" } });
    expect((await reading).json).toMatchObject({ bridge_error: { kind: "failed_read" } });
    const down = await bridge.tool("gin_save", save("never-sent", "not-sent"));
    // The relay takes the bytes and then finds nobody: the bridge cannot know that, and must not guess.
    expect(down.json).toMatchObject({ bridge_error: { kind: "unknown_outcome", request_id: "not-sent" } });
    await startDaemon({ host: site.host, root: site.root, args: ["--listen", "none"] });
    for (const id of ["mid-write", "not-sent"]) {
      expect((await bridge.tool("gin_call", outcomeOf(id))).json).toMatchObject({
        request_outcome: { outcome: "OUTCOME_NOT_FOUND" },
      });
    }
    expect((await bridge.tool("gin_save", save("never", "mid-write"))).json).toMatchObject({ replayed: false });
  });

  it("a mutation inside gin_call is told apart like one of gin_save, a read like one of gin_read", async () => {
    const site = await startSite();
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint]);
    await bridge.initialize();
    relay.cutAnswers();
    const call = async (request: object) => (await bridge.tool("gin_call", { request })).json;
    expect(await call({ save: save("by-call", "by-call") })).toMatchObject({
      bridge_error: { kind: "unknown_outcome", request_id: "by-call" },
    });
    expect(await call({ acquireLease: { intent: "x", requestId: "camel" } })).toMatchObject({
      bridge_error: { kind: "unknown_outcome", request_id: "camel" },
    });
    expect(await call({ save: { ...save("dry", "dry"), dry_run: true } })).toMatchObject({
      bridge_error: { kind: "failed_read" },
    });
    expect(await call({ list_leases: {} })).toMatchObject({ bridge_error: { kind: "failed_read" } });
    expect(await call({ renew_lease: { lease_id: "ls_x" } })).toMatchObject({
      bridge_error: { kind: "unknown_outcome", next_call: { list_leases: {} } },
    });
  });

  it("killed while idle: the next call starts it again", async () => {
    const { root, host } = onDemand();
    const bridge = startBridge(["--host", host, "--root", root]);
    await bridge.initialize();
    expect((await bridge.tool("gin_save", save("before"))).isError).toBe(false);
    const pid = readMetadata(join(host, "daemon.json"))?.pid ?? 0;
    process.kill(pid, "SIGKILL");
    // A call that still meets the dying connection is a failed read; the one after it starts a daemon.
    const first = await bridge.tool("gin_read", { path: "before" });
    if (first.isError) expect(first.json).toMatchObject({ bridge_error: { kind: "failed_read" } });
    expect((await bridge.tool("gin_read", { path: "before" })).json).toMatchObject({ text: "before" });
    expect(readMetadata(join(host, "daemon.json"))?.pid).not.toBe(pid);
  });
});
