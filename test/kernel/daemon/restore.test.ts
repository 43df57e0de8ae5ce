import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { NotRestoredLine, RestoredLine, RestoreOptions } from "../../../src/paths/index.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { post, program, run, runtime } from "./daemon-process.ts";

/** The daemon's program as gin restore runs it. */
function restore(options: Omit<RestoreOptions, "replace"> & { readonly replace?: boolean }): RestoredLine | NotRestoredLine {
  const { stdout, stderr } = spawnSync(process.execPath, [...program, "restore", JSON.stringify(options)], {
    cwd: repo,
    encoding: "utf8",
    env: { ...process.env, GIN_HOST: undefined, GIN_DATA: undefined, NODE_EXTRA_CA_CERTS: undefined },
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

const save = (socket: string, id: string, text: string, more: object = {}) =>
  post({ socket }, "GinService/Save", { request_id: id, edits: [{ path: `${id}.txt`, expect: "absent", text }], ...more });

describe("a restore", () => {
  it("brings a backup back: new incarnations, old leases ended, what changed since recorded as outside", {
    timeout: 120_000,
  }, async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const { socket } = await first.ready;
    const saved = (await save(socket, "one", "1")).body;
    const lease = (await post({ socket }, "GinService/AcquireLease", { request_id: "l-1", paths: ["x"] })).body.lease as {
      lease_incarnation: string;
      lease_epoch: string;
    };
    const backup = join(tempDir("backup"), "b");
    expect((await post({ socket }, "AdminService/Backup", { directory: backup, request_id: "b-1" })).status).toBe(200);
    await save(socket, "two", "2");

    const busy = restore({ backup, host, replace: true });
    expect(busy).toMatchObject({ restored: false, reason: "BUSY" });
    first.child.kill("SIGTERM");
    await first.ended;
    const refused = restore({ backup, host });
    expect(refused).toMatchObject({ restored: false, reason: "INVALID_REQUEST" });
    expect((refused as NotRestoredLine).suggestion).toContain("--replace");

    // A copy that a killed restore left goes with the next one that is not refused.
    mkdirSync(join(host, "data", "restoring-killed"));
    writeFileSync(join(host, "data", "restoring-killed", "store.db"), "half");
    expect(restore({ backup, host })).toMatchObject({ restored: false });
    expect(existsSync(join(host, "data", "restoring-killed"))).toBe(true);
    const done = restore({ backup, host, replace: true }) as RestoredLine;
    expect(done).toMatchObject({ restored: true, data: join(host, "data"), workspaces: [{ generation: 1, root }] });
    expect(readdirSync(done.moved_aside).sort()).toContain("store.db");
    expect(readdirSync(join(host, "data")).filter((name) => name.startsWith("restoring-"))).toEqual([]);

    const again = run({ host }, { env });
    const { socket: now } = await again.ready;
    const context = (await post({ socket: now }, "GinService/Context", {})).body as { state: { incarnation: string } };
    const { incarnation } = saved.state as { incarnation: string };
    expect(context.state.incarnation).not.toBe(incarnation);
    expect(JSON.stringify((await post({ socket: now }, "GinService/ListLeases", {})).body)).not.toContain("ls_");
    const stale = await save(now, "three", "3", { incarnation });
    expect(stale.reason).toBe("STALE_INCARNATION");
    const fenced = await save(now, "four", "4", { lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch });
    expect(fenced.reason).toBe("FENCE_SUPERSEDED");
    // The file of the lost save is still there, and is nobody's now.
    const read = (await post({ socket: now }, "GinService/ReadPath", { path: "two.txt" })).body;
    expect(read.text).toBe("2");
    const log = (await post({ socket: now }, "GinService/ListCheckpoints", { path: "two.txt" })).body;
    expect(log.checkpoints).toMatchObject([{ principal: "" }]);
    again.child.kill("SIGTERM");
    await again.ended;
  });

  it("into a fresh host needs no asking; damage and what is no backup change nothing", { timeout: 120_000 }, async () => {
    const { root, host } = tempHost();
    const first = run({ host, roots: [root] }, { env: runtime() });
    const { socket } = await first.ready;
    await save(socket, "one", "x".repeat(3_000));
    const backup = join(tempDir("backup"), "b");
    await post({ socket }, "AdminService/Backup", { directory: backup, request_id: "b-1" });
    expect(restore({ backup: join(host, "data"), host: join(tempDir("fresh"), "h") })).toMatchObject({ reason: "BUSY" });
    first.child.kill("SIGTERM");
    await first.ended;

    const fresh = join(tempDir("fresh"), "host");
    mkdirSync(fresh, { mode: 0o700 });
    expect(restore({ backup: root, host: fresh })).toMatchObject({ restored: false, reason: "INVALID_REQUEST" });
    const file = join(backup, "store.db");
    const whole = readFileSync(file);
    const at = whole.indexOf("x".repeat(100));
    writeFileSync(file, Buffer.concat([whole.subarray(0, at), Buffer.from("y"), whole.subarray(at + 1)]));
    expect(restore({ backup, host: fresh })).toMatchObject({ restored: false, reason: "STORE_CORRUPT" });
    expect(existsSync(join(fresh, "data", "store.db"))).toBe(false);
    writeFileSync(file, whole);
    expect(restore({ backup, host: fresh })).toMatchObject({ restored: true, moved_aside: "", workspaces: [{ root }] });
    expect(existsSync(join(fresh, "data", "store.db"))).toBe(true);
    const second = run({ host: fresh }, { env: runtime() });
    const { socket: now } = await second.ready;
    expect((await post({ socket: now }, "GinService/ReadPath", { path: "one.txt", snapshot: "head" })).status).toBe(200);
    second.child.kill("SIGTERM");
    await second.ended;
  });
});

describe("a workspace whose directory was moved", () => {
  it("is taken where it is now, with its history", { timeout: 120_000 }, async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const { socket, workspace } = await first.ready;
    await save(socket, "one", "1");
    const relink = (directory: string, id: string) =>
      post({ socket }, "AdminService/Relink", { workspace, directory, request_id: id });
    const moved = join(root, "..", "moved");
    const copy = join(root, "..", "copy");
    mkdirSync(copy);
    expect((await relink(copy, "r-0")).reason).toBe("ROOT_OVERLAPS");
    const other = join(root, "..", "other");
    mkdirSync(join(other, "sub"), { recursive: true });
    await post({ socket }, "AdminService/OpenWorkspace", { root: other, request_id: "o-1" });

    renameSync(root, moved);
    expect((await relink("relative", "r-1")).reason).toBe("INVALID_REQUEST");
    expect((await relink(join(root, "nothing"), "r-2")).reason).toBe("WORKSPACE_MISSING_ROOT");
    expect((await relink(other, "r-3")).reason).toBe("ROOT_OVERLAPS");
    expect((await relink(join(other, "sub"), "r-4")).reason).toBe("ROOT_OVERLAPS");
    expect((await relink(join(host, "data"), "r-5")).reason).toBe("ROOT_OVERLAPS");
    expect((await relink(join(moved, "one.txt"), "r-6")).reason).toBe("NOT_A_DIRECTORY");

    const taken = await relink(moved, "r-7");
    expect(taken.body).toMatchObject({ info: { id: workspace, status: "active", root: moved }, replayed: false });
    expect((await relink(moved, "r-7")).body).toMatchObject({ replayed: true });
    const named = { workspace };
    expect((await post({ socket }, "GinService/ReadPath", { ...named, path: "one.txt" })).body.text).toBe("1");
    expect((await save(socket, "two", "2", named)).status).toBe(200);
    expect(existsSync(join(moved, "two.txt"))).toBe(true);
    const log = (await post({ socket }, "GinService/ListCheckpoints", named)).body.checkpoints as object[];
    expect(JSON.stringify(log)).toContain('"request_id":"one"');

    // A closed workspace keeps its directory: another may not take it.
    await post({ socket }, "AdminService/CloseWorkspace", { workspace: "other", request_id: "c-1" });
    await post({ socket }, "AdminService/CloseWorkspace", { workspace, request_id: "c-2" });
    expect((await relink(other, "r-8")).reason).toBe("ROOT_OVERLAPS");
    expect((await relink(copy, "r-9")).body).toMatchObject({ info: { root: copy, status: "active" } });
    first.child.kill("SIGTERM");
    await first.ended;
    const again = run({ host }, { env });
    const list = (await post({ socket: (await again.ready).socket }, "AdminService/ListWorkspaces", {})).body.workspaces;
    expect(list).toMatchObject([{ id: workspace, root: copy, status: "active" }, { status: "closed" }]);
    again.child.kill("SIGTERM");
    await again.ended;
  });
});
