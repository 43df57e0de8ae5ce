import { createHash } from "node:crypto";
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isBuilt } from "../../helpers/gin.ts";
import { repo } from "../../helpers/repo.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { fromSource, post, refusal, run, runtime, tcp } from "./daemon-process.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Holds a loopback port, or finds that somebody holds it already. */
function holdPort(port: number): Promise<number> {
  const server: Server = createServer();
  atTeardown(() => {
    server.close();
  });
  return new Promise((resolve, reject) => {
    server.once("error", (thrown: NodeJS.ErrnoException) => (thrown.code === "EADDRINUSE" ? resolve(port) : reject(thrown)));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

describe("gin's daemon", () => {
  it("says in one line that it serves, and serves reads and saves on the socket and over TCP", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "one\n");
    const started = run({ host, roots: [root], settings: { listen: ":0" } }, { env: runtime() });
    const ready = await started.ready;
    expect(Object.keys(ready)).toEqual(["ready", "endpoint", "socket", "token_file", "repository", "workspace", "version"]);
    expect(ready.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect([ready.repository.slice(0, 3), ready.workspace.slice(0, 3)]).toEqual(["rp_", "ws_"]);

    const read = await post(ready, "GinService/ReadPath", { path: "a.txt" });
    expect(read.body).toMatchObject({ text: "one\n", sha256: sha("one\n") });
    const saved = await post(ready, "GinService/Save", {
      request_id: "s-1",
      edits: [{ path: "a.txt", expect: sha("one\n"), text: "two\n" }],
    });
    expect(saved.status).toBe(200);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("two\n");

    const remote = tcp(ready);
    expect((await post(remote, "GinService/ReadPath", { path: "a.txt" })).body).toMatchObject({ text: "two\n" });
    const lease = await post(remote, "GinService/AcquireLease", { request_id: "l-1", paths: ["a.txt"], ttl_ms: 60_000 });
    const { lease_incarnation, lease_epoch } = (lease.body.lease ?? {}) as Record<string, string>;
    const edits = [{ path: "a.txt", expect: sha("two\n"), text: "three\n" }];
    const unfenced = await post(remote, "GinService/Save", { request_id: "s-2", edits });
    expect(unfenced.reason).toBe("LEASE_REQUIRED");
    const fenced = await post(remote, "GinService/Save", { request_id: "s-3", lease_incarnation, lease_epoch, edits });
    expect(fenced.status).toBe(200);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("three\n");
    const outcome = await post(remote, "GinService/RequestOutcome", { target_request_id: "s-3" });
    expect(JSON.stringify(outcome.body)).toContain("COMMITTED");

    expect((await post({ endpoint: ready.endpoint, token: "wrong" }, "GinService/ReadPath", { path: "a.txt" })).reason).toBe(
      "UNAUTHENTICATED",
    );
  });

  it("keeps its token over a restart, and every acknowledged save over kill -9", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root], settings: { listen: ":0", require_lease: "never" } }, { env });
    const before = tcp(await first.ready);
    expect(
      (await post(before, "GinService/Save", { request_id: "s-1", edits: [{ path: "a", expect: "absent", text: "1" }] })).status,
    ).toBe(200);
    first.child.kill("SIGKILL");
    await first.ended;
    const second = run({ host, settings: { listen: ":0" } }, { env });
    const after = tcp(await second.ready);
    expect(after.token).toBe(before.token);
    expect((await post(after, "GinService/ReadPath", { path: "a" })).body).toMatchObject({ text: "1" });
    const replay = await post(after, "GinService/RequestOutcome", { target_request_id: "s-1" });
    expect(JSON.stringify(replay.body)).toContain("COMMITTED");
    const status = await post(after, "AdminService/Status", {});
    expect(status.reason).toBe("SCOPE_FORBIDDEN");
  });

  it("takes another free port when the usual one is taken, and ends when the one asked for is", async () => {
    await holdPort(7400);
    const { root, host } = tempHost();
    const env = runtime();
    const usual = run({ host, roots: [root], settings: { listen: "" } }, { env });
    const { endpoint } = await usual.ready;
    expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(endpoint).not.toBe("http://127.0.0.1:7400");
    usual.child.kill("SIGTERM");
    await usual.ended;
    const taken = await holdPort(0);
    const refused = await refusal({ host, settings: { listen: `127.0.0.1:${taken}` } }, { env });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain(`the port ${taken} is taken`);
  });

  it.each(["0.0.0.0:0", "[::]:0"])("does not listen on %s without TLS", async (listen) => {
    const { root, host } = tempHost();
    const refused = await refusal({ host, roots: [root], settings: { listen } }, { env: runtime() });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain("INVALID_REQUEST");
    expect(refused.said).toMatch(/TLS/);
  });

  it("backs up into a new directory, never into a served one", async () => {
    const { root, host } = tempHost();
    const started = run({ host, roots: [root] }, { env: runtime() });
    const { socket } = await started.ready;
    const directory = join(tempDir("backup"), "copy");
    const made = await post({ socket }, "AdminService/Backup", { request_id: "b-1", directory });
    expect(made.status).toBe(200);
    expect(readdirSync(directory).length).toBeGreaterThan(0);
    expect((await post({ socket }, "AdminService/Backup", { request_id: "b-2", directory })).reason).toBe("INVALID_REQUEST");
    expect((await post({ socket }, "AdminService/Backup", { request_id: "b-3", directory: join(root, "copy") })).reason).toBe(
      "ROOT_OVERLAPS",
    );
  });
});

/** The uppermost directory on the way to a path that only its owner may enter. */
function closedAbove(path: string): string | undefined {
  const above = dirname(path);
  const higher = above === path ? undefined : closedAbove(above);
  return higher ?? ((statSync(path).mode & 0o001) === 0 ? path : undefined);
}

describe("a start that cannot succeed", () => {
  it("without write access to the data directory says so and changes nothing", async (ctx) => {
    if (process.getuid?.() !== 0) return ctx.skip("needs root, to start the daemon as a user who may not write");
    const closed = closedAbove(repo);
    if (closed !== undefined) return ctx.skip(`no other user may enter ${closed}, where this repository is`);
    const { host } = tempHost();
    const data = join(host, "data");
    mkdirSync(data, { mode: 0o700 });
    const entry = ["--import", "tsx", "--input-type=module", "-e"];
    // Root may write anywhere, so the daemon drops to a user of its own first.
    const nobody = 65_534;
    for (const each of [host, data]) chownSync(each, nobody, nobody);
    for (const each of [join(host, "logs"), join(host, "tokens")]) {
      mkdirSync(each, { mode: 0o700 });
      chownSync(each, nobody, nobody);
    }
    chmodSync(data, 0o500);
    chmodSync(join(host, ".."), 0o755);
    const main = join(repo, "src/daemon/main.ts");
    const drop = `process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody}); await import(${JSON.stringify(main)});`;
    const refused = await refusal(
      { host },
      { entry: [...entry, drop, "--", "daemon"], env: { ...runtime(), HOME: host, XDG_RUNTIME_DIR: undefined } },
    );
    expect(refused.code).toBe(1);
    expect(refused.said).toContain("STORE_READ_ONLY");
    expect(readdirSync(data)).toEqual([]);
    return undefined;
  });

  it("over a store of a newer version names both versions and leaves it alone", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    await first.ready;
    first.child.kill("SIGTERM");
    await first.ended;
    const { loadSqlite } = await import("../../../src/daemon/store/sqlite.ts");
    const database = join(host, "data", "store.db");
    const db = loadSqlite().open(database);
    db.pragma("user_version = 4711");
    db.close();
    const before = sha(readFileSync(database, "latin1"));
    const refused = await refusal({ host, roots: [root] }, { env });
    expect(refused.code).toBe(1);
    expect(refused.said).toMatch(/STORE_TOO_NEW: .*4711/);
    expect(sha(readFileSync(database, "latin1"))).toBe(before);
  });

  it("without SQLite says which package is missing and the command that mends it", async (ctx) => {
    if (!isBuilt("daemon")) return ctx.skip("dist/ is not built, which is what is copied: npm run build");
    const alone = tempDir("bundle");
    cpSync(join(repo, "dist"), join(alone, "dist"), { recursive: true });
    const { root, host } = tempHost();
    const refused = await refusal({ host, roots: [root] }, { env: runtime(), entry: [join(alone, "dist", "daemon.mjs")] });
    expect(refused.code).toBe(1);
    expect(refused.said).toMatch(/UNSUPPORTED: SQLite is missing: the package better-sqlite3/);
    expect(refused.said).toMatch(/npm install/);
    return undefined;
  });

  it("is told on the descriptor that asked", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    await run({ host, roots: [root] }, { env }).ready;
    // Standard error stands in for an inherited descriptor: what counts is the line's form.
    const refused = await refusal({ host, ready_fd: 2 }, { env });
    const line = refused.said.split("\n").find((each) => each.startsWith('{"ready"'));
    expect(JSON.parse(line ?? "null")).toMatchObject({ ready: false, reason: "BUSY" });
  });
});

describe("the sources", () => {
  it("serve like the bundle", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "one\n");
    const started = run({ host, roots: [root] }, { env: runtime(), entry: fromSource });
    const { socket } = await started.ready;
    expect((await post({ socket }, "GinService/ReadPath", { path: "a.txt" })).body).toMatchObject({ text: "one\n" });
  });
});
