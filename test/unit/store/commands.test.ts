import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkIntegrity, type LeaseRow, openStore, type TokenRow } from "../../../src/daemon/store/index.ts";
import { file, freshDirectory, Line, opened, request, sha } from "./fixture.ts";

/** The same contract, whatever thread the transactions run on. */
describe.each([
  { name: "inline", inline: true },
  { name: "in its own thread", inline: false },
])("the store $name", ({ inline }) => {
  it("keeps a save whole: contents, tree, checkpoint, paths, journal, request and head", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const first = await line.save({ "a.txt": "one", "dir/b.txt": "two" }, { request: request("r-1") });
    const row = store.read.workspace(line.rowid);
    expect(row).toMatchObject({ id: "ws_1", generation: 1, epoch: 1, head: first, base: "", status: "active", leaseEpoch: 0 });
    expect(Buffer.from(store.read.object(sha("one")) ?? []).toString()).toBe("one");
    expect(store.read.hasObject(sha("two"))).toBe(true);
    expect(store.read.hasObject(sha("three"))).toBe(false);
    expect(store.read.object(sha("three"))).toBeUndefined();
    expect(store.trees.get(row?.tree ?? "", "dir/b.txt")).toEqual(file("two"));
    expect(store.read.checkpoint(first)).toMatchObject({
      id: first,
      generation: 1,
      parents: [],
      cause: "save",
      principal: "alice",
    });
    expect(store.read.checkpointAt(line.rowid, 1)?.id).toBe(first);
    expect(store.read.touched(first, 0, 10)).toEqual({
      count: 2,
      paths: [
        { path: "a.txt", before: null, after: file("one") },
        { path: "dir/b.txt", before: null, after: file("two") },
      ],
    });
    expect(store.read.touched(first, 1, 10).paths.map(({ path }) => path)).toEqual(["dir/b.txt"]);
    expect(store.read.openSaves(line.rowid)).toEqual([
      {
        id: first,
        workspace: line.rowid,
        generation: 1,
        state: "committed",
        boot: "boot-1",
        steps: line.store.read.openSaves(line.rowid)[0]?.steps,
      },
    ]);
    expect(store.read.openSaves(line.rowid)[0]?.steps.map(({ path, mode }) => [path, mode])).toEqual([
      ["a.txt", 0o644],
      ["dir/b.txt", 0o644],
    ]);
    expect(store.read.request(1, "alice", "r-1")).toMatchObject({ outcome: "committed", operation: "Save", digest: sha("r-1") });
    expect(Buffer.from(store.read.request(1, "alice", "r-1")?.answer ?? []).toString()).toBe("answer r-1");
    await store.write("applied", { saves: [first] });
    expect(store.read.openSaves(line.rowid)[0]?.state).toBe("applied");
    await store.write("durable", { saves: [first] });
    expect(store.read.openSaves(line.rowid)).toEqual([]);
    const second = await line.save({ "a.txt": null });
    expect(store.read.workspace(line.rowid)).toMatchObject({ base: "", head: second });
  });

  it("gives every save of a batch its own verdict and skips what follows a refusal", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const good = line.plan({ a: "1" }, { request: request("r-1") });
    const late = line.plan({ b: "2" }, { request: request("r-2") });
    const after = line.plan({ c: "3" }, { generation: 1 });
    expect(await line.commit(good, late, after)).toEqual(["committed", "stale", "skipped"]);
    expect(store.read.request(1, "alice", "r-2")).toBeUndefined();
    expect(store.read.hasObject(sha("2"))).toBe(false);
    expect(store.read.workspace(line.rowid)?.generation).toBe(1);
    const again = line.plan({ d: "4" }, { request: request("r-1", { answer: Buffer.from("other") }) });
    expect(await line.commit(again)).toEqual(["request_exists"]);
    expect(line.generation).toBe(1);
    expect(await line.commit(line.plan({ d: "4" }, { epoch: 2 }))).toEqual(["stale"]);
    await store.write("workspace.status", { rowid: line.rowid, status: "closed" });
    expect(await line.commit(line.plan({ d: "4" }))).toEqual(["stale"]);
  });

  it("trusts a workspace, or no more, in one transaction with the request's outcome", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    expect(store.read.workspace(line.rowid)?.trusted).toBe(false);
    await store.write("workspace.trust", { rowid: line.rowid, trusted: true, request: request("t-1") });
    expect([store.read.workspace(line.rowid)?.trusted, store.read.request(1, "alice", "t-1")?.outcome]).toEqual([
      true,
      "committed",
    ]);
    await store.write("workspace.trust", { rowid: line.rowid, trusted: false });
    expect(store.read.workspace(line.rowid)?.trusted).toBe(false);
    await expect(store.write("workspace.trust", { rowid: 999, trusted: true })).rejects.toMatchObject({
      reason: "WORKSPACE_NOT_FOUND",
    });
  });

  it("sets the base once, as a generation of its own outside the log", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const first = await line.save({ "a.txt": "one" });
    const { epoch } = store.read.workspace(line.rowid) ?? { epoch: 0 };
    const base = { id: "ck_base", tree: store.trees.empty, timeMs: 5 };
    const end = { workspace: line.rowid, base, nodes: [], counts: [sha("one")], gitCommit: "c0ffee" };
    expect(await store.write("workspace.imported", { ...end, epoch: epoch + 1 })).toBe("stale");
    expect(await store.write("workspace.imported", { ...end, epoch, counts: [sha("one"), sha("gone")] })).toBe("missing");
    expect(store.read.workspace(line.rowid)).toMatchObject({ imported: false, base: "" });
    expect(await store.write("workspace.imported", { ...end, epoch })).toBe("done");
    expect(await store.write("workspace.imported", { ...end, epoch, base: { ...base, id: "ck_other" } })).toBe("stale");
    expect(store.read.workspace(line.rowid)).toMatchObject({ imported: true, base: "ck_base", gitCommit: "c0ffee", head: first });
    expect(store.read.checkpoint("ck_base")).toMatchObject({
      generation: 0,
      parents: [],
      cause: "import",
      tree: store.trees.empty,
    });
    expect(store.read.checkpoints({ workspace: line.rowid, limit: 10 }).map((one) => one.id)).toEqual([first]);
  });

  it("remembers how files looked, and forgets", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const row = (path: string, stamp: string) => ({ path, stamp, newestMs: 1_700_000_000_000, sha256: sha(path) });
    const write = (put: ReturnType<typeof row>[], forget: string[] = [], clear = false) =>
      store.write("looked", { workspace: line.rowid, put, forget, clear });
    await write([row("a", "1"), row("b\n", "1"), row("c", "1")]);
    await write([row("a", "2")], ["c"]);
    expect(store.read.looked(line.rowid, "a")).toEqual(row("a", "2"));
    expect(store.read.lookedAfter(line.rowid, "a", 9)).toEqual([row("b\n", "1")]);
    await write([row("d", "1")], [], true);
    expect(store.read.lookedAfter(line.rowid, "", 9)).toEqual([row("d", "1")]);
  });

  it("records a request without a change, and two checkpoints in one save", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const outside = line.plan({ a: "1" }, {}, { cause: "external", principal: "" }).checkpoints;
    const ours = line.plan({ a: "2" }, {}, { generation: 2 });
    expect(await line.commit({ ...ours, checkpoints: [...outside, ...ours.checkpoints] })).toEqual(["committed"]);
    expect(store.read.workspace(line.rowid)).toMatchObject({
      generation: 2,
      base: "",
      head: ours.checkpoints[0]?.id,
    });
    const same = { ...line.plan({}), checkpoints: [], journal: [], nodes: [], request: request("r-same") };
    expect(await line.commit(same)).toEqual(["committed"]);
    expect(await line.commit({ ...same, generation: 1 })).toEqual(["stale"]);
    expect(store.read.request(1, "alice", "r-same")?.outcome).toBe("committed");
    expect(line.generation).toBe(2);
  });

  it("undoes everything when a save cannot be written", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const first = await line.save({ a: "1" });
    const good = line.plan({ b: "2" });
    const twin = line.plan({ c: "3" }, { generation: 2 }, { generation: 3, id: first });
    await expect(line.commit(good, twin)).rejects.toMatchObject({ reason: "INTERNAL" });
    line.refresh();
    expect(line.generation).toBe(1);
    expect(store.read.hasObject(sha("2"))).toBe(false);
    const skewed = line.plan({ b: "2" }, {}, { generation: 7 });
    await expect(line.commit(skewed)).rejects.toMatchObject({ reason: "INTERNAL" });
    await line.save({ b: "2" });
  });

  it("replaces a refusal by the committed outcome and never the reverse", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    await store.write("refusal", request("r-1", { outcome: "rejected", answer: Buffer.from("no") }));
    await store.write("refusal", request("r-1", { outcome: "rejected", answer: Buffer.from("no again") }));
    expect(Buffer.from(store.read.request(1, "alice", "r-1")?.answer ?? []).toString()).toBe("no again");
    await line.save({ a: "1" }, { request: request("r-1") });
    await store.write("refusal", request("r-1", { outcome: "rejected" }));
    expect(store.read.request(1, "alice", "r-1")?.outcome).toBe("committed");
    await store.write("request", request("h-1", { scope: 0, operation: "Backup" }));
    expect(store.read.request(0, "alice", "h-1")?.operation).toBe("Backup");
    await expect(store.write("request", request("h-1", { scope: 0 }))).rejects.toMatchObject({
      reason: "REQUEST_IN_PROGRESS",
      retryable: true,
    });
  });

  it("fences: one lease epoch after the other, overlapped leases end with the grant", async () => {
    const store = await opened({ inline });
    const line = await Line.make(store);
    const lease = (id: string, epoch: number, paths: string[]): LeaseRow => ({
      id,
      workspace: line.rowid,
      holder: "alice",
      intent: "work",
      paths,
      epoch,
      ttlMs: 5000,
      state: "held",
    });
    expect(await store.write("lease.grant", { lease: lease("ls_2", 2, []) })).toBe(false);
    expect(await store.write("lease.grant", { lease: lease("ls_1", 1, ["src"]), request: request("r-l") })).toBe(true);
    const fence = { leaseId: "ls_1", leaseEpoch: 1 };
    await line.save({ "src/a": "1" }, { fence });
    expect(await store.write("lease.grant", { lease: lease("ls_2", 2, ["srcs", "lib"]) })).toBe(true);
    await line.save({ "src/a": "2" }, { fence });
    expect(await store.write("lease.grant", { lease: lease("ls_3", 3, ["src/deep"]) })).toBe(true);
    const stale = line.plan({ "src/a": "3" }, { fence, request: request("r-f") });
    expect(await line.commit(stale)).toEqual(["fence"]);
    expect(store.read.request(1, "alice", "r-f")).toBeUndefined();
    expect(line.generation).toBe(2);
    expect(store.read.leases(line.rowid).map(({ id, state }) => [id, state])).toEqual([
      ["ls_1", "ended"],
      ["ls_2", "held"],
      ["ls_3", "held"],
    ]);
    expect(await line.commit(line.plan({ x: "1" }, { fence: { leaseId: "ls_3", leaseEpoch: 2 } }))).toEqual(["fence"]);
    await store.write("lease.end", { ids: ["ls_3"] });
    await store.write("lease.end", { ids: ["ls_2"], request: request("r-b", { operation: "BreakLease" }) });
    expect(store.read.lease("ls_2")).toEqual({ ...lease("ls_2", 2, ["srcs", "lib"]), state: "ended" });
    expect(store.read.lease("ls_9")).toBeUndefined();
    expect(store.read.workspace(line.rowid)?.leaseEpoch).toBe(3);
    expect(
      await store.write("lease.grant", { lease: lease("ls_4", 4, []), request: request("r-l") }).catch((thrown) => thrown.reason),
    ).toBe("REQUEST_IN_PROGRESS");
    expect(store.read.workspace(line.rowid)?.leaseEpoch).toBe(3);
  });

  it("renews incarnations when the store was moved to another machine or directory", async () => {
    const store = await opened({ inline });
    const one = await Line.make(store, "ws_1");
    const two = await Line.make(store, "ws_2");
    const here = { machine: "m1", hostIdentity: "d1", incarnations: ["in_a", "in_b"], leaseIncarnation: "li_1" };
    expect(await store.write("takeover", here)).toEqual({ renewed: false });
    expect(store.read.facts().leaseIncarnation).toBe("li_1");
    expect(await store.write("takeover", { ...here, leaseIncarnation: "li_2" })).toEqual({ renewed: false });
    expect(store.read.facts().leaseIncarnation).toBe("li_1");
    expect(store.read.workspaces().map(({ epoch, incarnation }) => [epoch, incarnation])).toEqual([
      [3, "in_1"],
      [3, "in_1"],
    ]);
    const lease = {
      id: "ls_1",
      workspace: one.rowid,
      holder: "a",
      intent: "",
      paths: [],
      epoch: 1,
      ttlMs: 5000,
      state: "held" as const,
    };
    await store.write("lease.grant", { lease });
    const moved = { ...here, hostIdentity: "d2", leaseIncarnation: "li_3" };
    await expect(store.write("takeover", { ...moved, incarnations: ["in_c"] })).rejects.toMatchObject({ reason: "INTERNAL" });
    expect(await store.write("takeover", moved)).toEqual({ renewed: true });
    expect(store.read.facts().leaseIncarnation).toBe("li_3");
    expect(store.read.workspace(two.rowid)).toMatchObject({ incarnation: "in_b", epoch: 4 });
    expect(store.read.lease("ls_1")?.state).toBe("ended");
  });

  it("keeps workspaces apart and lets go of a removed one", async () => {
    const store = await opened({ inline });
    const one = await Line.make(store, "ws_1");
    const two = await Line.make(store, "ws_2");
    const gone = await one.save({ a: "1" });
    const kept = await two.save({ a: "2" });
    await store.write("workspace.status", { rowid: one.rowid, status: "closed", device: "10", inode: "11" });
    expect(store.read.workspace(one.rowid)).toMatchObject({
      status: "closed",
      device: "10",
      inode: "11",
      repositoryName: "repo",
    });
    await store.write("workspace.remove", { rowid: one.rowid, request: request("r-rm", { scope: 0 }) });
    expect(store.read.workspaces().map(({ id }) => id)).toEqual(["ws_2"]);
    expect(store.read.checkpoint(gone)).toBeUndefined();
    expect(store.read.openSaves(one.rowid)).toEqual([]);
    for (let slice = 0; slice < 6; slice++) await store.write("upkeep", { nowMs: 1 });
    expect(store.read.checkpoints({ workspace: one.rowid, limit: 10 })).toEqual([]);
    expect(store.read.touched(gone, 0, 10)).toEqual({ paths: [], count: 0 });
    expect(store.read.checkpoint(kept)?.id).toBe(kept);
    const three = await Line.make(store, "ws_3");
    expect(three.rowid).toBeGreaterThan(two.rowid);
    await expect(store.write("workspace.remove", { rowid: 99 })).rejects.toMatchObject({ reason: "WORKSPACE_NOT_FOUND" });
    await expect(store.write("workspace.status", { rowid: 99, status: "active" })).rejects.toMatchObject({
      reason: "WORKSPACE_NOT_FOUND",
    });
  });

  it("keeps tokens, revocations and their last use", async () => {
    const store = await opened({ inline });
    const token: TokenRow = {
      id: "tk_1",
      secretSha256: sha("secret"),
      principal: "bob",
      scopes: ["read", "save"],
      workspaces: ["ws_1"],
      paths: ["src"],
      createdMs: 5,
      expiresMs: 50,
      lastUsedMs: 0,
      revokedMs: 0,
      createdBy: "owner",
    };
    await store.write("token.create", { token, request: request("r-t", { scope: 0 }) });
    expect(store.read.token("tk_1")).toEqual(token);
    await store.write("token.used", { id: "tk_1", lastUsedMs: 9 });
    await store.write("token.used", { id: "tk_1", lastUsedMs: 8 });
    await store.write("token.revoke", { id: "tk_1", revokedMs: 20 });
    await store.write("token.revoke", { id: "tk_1", revokedMs: 30 });
    expect(store.read.tokens()).toEqual([{ ...token, lastUsedMs: 9, revokedMs: 20 }]);
    await expect(store.write("token.revoke", { id: "tk_2", revokedMs: 1 })).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
    await expect(store.write("token.create", { token })).rejects.toMatchObject({ reason: "INTERNAL" });
  });

  it("copies a store in use, side store included, into one that opens", async () => {
    const directory = freshDirectory();
    const store = await opened({ inline, directory: join(directory, "data") });
    const line = await Line.make(store);
    const large = randomBytes(1_500_000);
    await line.save({ big: large, small: "s" });
    const target = join(directory, "copy");
    const copying = store.write("backup", { directory: target });
    const during = await line.save({ later: "l" });
    const { bytes } = await copying;
    expect(bytes).toBeGreaterThan(large.length);
    expect(checkIntegrity(target, true)).toEqual({ ok: true, problems: [] });
    const copy = await openStore({ directory: target, inline: true });
    expect(copy.read.object(sha(large))?.length).toBe(large.length);
    expect(copy.read.facts().storeId).toBe(store.read.facts().storeId);
    expect([1, 2]).toContain(copy.read.workspace(line.rowid)?.generation);
    await copy.close();
    expect(store.read.checkpoint(during)?.id).toBe(during);
    await expect(store.write("backup", { directory: target })).rejects.toMatchObject({
      reason: "IO_FAILED",
      facts: { errno: "EEXIST" },
    });
  });

  it("puts contents over 1 MiB into side segments, once each", async () => {
    const directory = join(freshDirectory(), "data");
    const store = await opened({ inline, directory });
    const line = await Line.make(store);
    const large = randomBytes(1024 * 1024 + 1);
    const limit = randomBytes(1024 * 1024);
    await line.save({ large, again: large, limit });
    await line.save({ more: large });
    await store.write("objects", { objects: [{ sha256: sha(large), bytes: large }] });
    const other = randomBytes(1024 * 1024 + 7);
    await store.write("objects", { objects: [{ sha256: sha(other), bytes: other }] });
    expect(readdirSync(join(directory, "side"))).toEqual(["000001.seg", "000002.seg"]);
    expect(statSync(join(directory, "side", "000001.seg")).size).toBe(large.length + other.length);
    for (const bytes of [large, limit, other]) expect(sha(store.read.object(sha(bytes)) ?? "")).toBe(sha(bytes));
    expect(store.read.facts().bytes).toBeGreaterThan(3 * 1024 * 1024);
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
  });

  it("refuses writes once it closes, and what was sent before is done", async () => {
    const directory = join(freshDirectory(), "data");
    const store = await openStore({ directory, inline });
    const line = await Line.make(store);
    const sent = store.write("commit", { saves: [line.plan({ a: "1" })], boot: "b" });
    const closed = store.close();
    await expect(store.write("upkeep", { nowMs: 1 })).rejects.toMatchObject({ reason: "BUSY" });
    expect(await sent).toEqual(["committed"]);
    await closed;
    await store.close();
    expect(readdirSync(directory).filter((name) => name.startsWith("store"))).toEqual(["store.db"]);
    mkdirSync(join(directory, "unrelated"));
    const again = await opened({ directory });
    expect(again.read.workspace(line.rowid)?.generation).toBe(1);
  });
});
