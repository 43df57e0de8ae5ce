import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { locateHost, readMetadata, writeMetadata } from "../../../src/paths/index.ts";
import { startDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { ginBin, isBuilt, runGin } from "../../helpers/gin.ts";
import { ended, type Finished, runCommand, spawnOwned } from "../../helpers/process.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";

function sha(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Ends the daemon of a host when the test is over, however it was started. */
async function stopped(host: string): Promise<void> {
  await runGin(["stop", "--kill-after", "200ms"], { host });
}

describe("against one daemon in the foreground", () => {
  const { root, host } = tempHost();
  let daemon: TestDaemon;
  const gin = (line: string, input?: string): Promise<Finished> =>
    runGin(line.split(" "), { host, cwd: root, ...(input !== undefined && { input }) });
  const json = async (line: string, input?: string) => JSON.parse((await gin(`${line} --json`, input)).stdout);

  beforeAll(async () => {
    mkdirSync(join(root, "src"));
    writeFileSync(join(root, "a.txt"), "one\ntwo\nthree\n");
    writeFileSync(join(root, "big.txt"), "0123456789abcde\n".repeat(200_000));
    writeFileSync(join(root, "data.bin"), Buffer.from([0xff, 0x00, 0x1b, 0x5b]));
    daemon = await startDaemon({ host, root });
  });
  afterAll(async () => {
    await daemon.stop();
  });

  test("read gives the bytes, lines, a snapshot, a directory, and a file of many pages whole", async () => {
    expect(await gin("read a.txt")).toMatchObject({ code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
    expect((await gin("read a.txt --lines 2-2")).stdout).toBe("two\n");
    expect((await gin("read a.txt --snapshot base")).stdout).toBe("one\ntwo\nthree\n");
    expect((await gin("read .")).stdout).toMatch(/file +4 B +data\.bin/);
    expect((await gin("read a.txt --stat")).stdout).toContain(sha("one\ntwo\nthree\n"));
    expect((await gin(`read a.txt --if-hash ${sha("one\ntwo\nthree\n")}`)).stderr).toBe("unchanged\n");
    expect(sha((await gin("read big.txt")).stdout)).toBe(sha(readFileSync(join(root, "big.txt"))));
    const { stdout } = await runCommand(
      "sh",
      ["-c", `'${process.execPath}' '${ginBin}' read data.bin --host '${host}' | od -An -tx1`],
      { cwd: root },
    );
    expect(stdout.trim()).toBe("ff 00 1b 5b");
  });

  test("a reader that leaves early is no failure", async () => {
    const { code, stdout, stderr } = await runCommand(
      "bash",
      ["-c", `set -o pipefail; '${process.execPath}' '${ginBin}' read big.txt --host '${host}' | head -1`],
      { cwd: root },
    );
    expect([code, stdout, stderr]).toEqual([0, "0123456789abcde\n", ""]);
  });

  test("save, a stale save, a merge and rm go through, and log and outcome tell of them", async () => {
    const first = await json("save s.txt --from - --expect absent -m first --request-id cli-1", "a\nb\nc\nd\ne\n");
    expect(first).toMatchObject({
      request_id: "cli-1",
      replayed: false,
      paths: [{ path: "s.txt", sha256: sha("a\nb\nc\nd\ne\n") }],
    });
    expect(readFileSync(join(root, "s.txt"), "utf8")).toBe("a\nb\nc\nd\ne\n");
    expect(await json("save s.txt --from - --expect absent -m first --request-id cli-1", "a\nb\nc\nd\ne\n")).toMatchObject({
      replayed: true,
    });
    const base = sha("a\nb\nc\nd\ne\n");
    expect((await gin(`save s.txt --from - --expect ${base}`, "A\nb\nc\nd\ne\n")).code).toBe(0);
    const stale = await gin(`save s.txt --from - --expect ${base}`, "a\nb\nc\nd\nE\n");
    expect(stale.code).toBe(1);
    expect(stale.stderr).toContain("gin: STALE_CONTENT");
    expect(stale.stderr).toContain("merge=clean");
    const dry = await gin(`save s.txt --from - --expect ${base} --on-conflict merge --dry-run`, "a\nb\nc\nd\nE\n");
    expect([dry.code, readFileSync(join(root, "s.txt"), "utf8")]).toEqual([0, "A\nb\nc\nd\ne\n"]);
    const merged = await gin(`save s.txt --from - --expect ${base} --on-conflict merge`, "a\nb\nc\nd\nE\n");
    expect(merged.stdout).toContain("merged  s.txt");
    expect(readFileSync(join(root, "s.txt"), "utf8")).toBe("A\nb\nc\nd\nE\n");
    expect((await gin(`rm s.txt --expect ${sha("A\nb\nc\nd\nE\n")}`)).stdout).toContain("deleted  s.txt");
    expect(existsSync(join(root, "s.txt"))).toBe(false);
    expect((await gin("log s.txt")).stdout.split("\n")[4]).toMatch(/^ck_\S+ +\d+ +\S+Z +save +owner +s\.txt +first$/);
    expect((await gin("outcome cli-1")).stdout).toMatch(/^committed {2}Save/);
    expect((await gin("outcome cli-unheard")).stdout).toMatch(/^not_found/);
    expect((await gin("explain request:cli-1")).code).toBe(0);
    expect((await gin("explain STALE_CONTENT")).stdout).toContain("STALE_CONTENT (reason)");
  });

  test("a whole Save comes as JSON, and call carries any Request", async () => {
    const whole = { edits: [{ path: "j.txt", expect: "absent", text: "j" }] };
    expect((await gin("save", JSON.stringify(whole))).code).toBe(0);
    const called = await gin("call --json -", JSON.stringify({ read_path: { path: "j.txt" } }));
    expect([called.code, JSON.parse(called.stdout).read_path.text]).toEqual([0, "j"]);
    const refused = await gin("call --json -", JSON.stringify({ read_path: { path: "nope" } }));
    expect([refused.code, JSON.parse(refused.stdout).error.reason]).toEqual([1, "PATH_NOT_FOUND"]);
    const unknown = await gin("call --json -", JSON.stringify({ read_path: { path: "j.txt", frob: 1 } }));
    expect(unknown.code).toBe(1);
    expect(unknown.stdout + unknown.stderr).toContain("INVALID_REQUEST");
  });

  test("a lease is taken, listed, renewed, fences a save, is released and broken", async () => {
    const { lease } = await json("lease acquire src --intent trying --ttl 1m");
    const fence = `--lease-incarnation ${lease.lease_incarnation} --lease-epoch ${lease.lease_epoch}`;
    expect((await gin("lease list")).stdout).toMatch(new RegExp(`${lease.lease_id} +owner .*src +trying`));
    expect((await gin("context")).stdout).toContain(lease.lease_id);
    const held = await gin("save src/x.txt --from - --expect absent", "x");
    expect([held.code, held.stderr.includes("LEASE_HELD")]).toEqual([1, true]);
    expect((await gin(`save src/x.txt --from - --expect absent ${fence}`, "x")).code).toBe(0);
    expect((await gin(`lease renew ${lease.lease_id} ${fence} --ttl 2m`)).stdout).toContain("renewed");
    expect((await gin(`lease release ${lease.lease_id} ${fence}`)).stdout).toBe("released\n");
    const other = (await json("lease acquire src")).lease;
    expect((await gin(`lease break ${other.lease_id} --note enough`)).stdout).toContain("broken");
    expect((await gin("lease list")).stdout).toBe("no leases\n");
  });

  test("context, capabilities, status, doctor, logs and workspace list tell what is there", async () => {
    expect((await gin("context --since 1")).stdout).toContain(`root         ${root}`);
    expect((await json("capabilities")).principal).toBe("owner");
    expect((await gin("capabilities")).stdout).toMatch(/^ReadPath +read_path +read +read$/m);
    expect(await json("status")).toMatchObject({ mode: "foreground", host, pid: String(daemon.child.pid) });
    expect((await gin("workspace list")).stdout).toContain(root);
    const doctor = await json("doctor");
    expect(
      doctor.checks.filter(
        (check: { name: string; state: string }) => check.state === "wrong" && (isBuilt("mcp") || check.name !== "programs"),
      ),
    ).toEqual([]);
    const logs = await gin("logs -n 500");
    expect(logs.stdout).toMatch(/info +serving/);
    for (const line of (await gin("logs -n 3 --json")).stdout.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg");
  });

  test("a second workspace is opened, must then be named, is closed and removed; --root finds it, and what lies in it", async () => {
    const other = tempDir("other");
    mkdirSync(join(other, "sub"));
    writeFileSync(join(other, "b.txt"), "b\n");
    expect((await gin(`workspace open ${other} --name second`)).stdout).toContain("second");
    const unnamed = await gin("read b.txt");
    expect([unnamed.code, unnamed.stderr.includes("WORKSPACE_NOT_FOUND")]).toEqual([1, true]);
    for (const flag of ["--workspace second", `--root ${other}`, `--root ${join(other, "sub")}`])
      expect((await gin(`read b.txt ${flag}`)).stdout).toBe("b\n");
    expect((await gin("workspace close second")).stdout).toContain("closed");
    expect((await gin("workspace remove second")).code).toBe(0);
    expect((await gin("read a.txt")).code).toBe(0);
    expect(readFileSync(join(other, "b.txt"), "utf8")).toBe("b\n");
  });

  test("over TCP a token file opens what its scopes allow, until it is revoked", async () => {
    const file = join(host, "bob.token");
    expect((await gin(`token create bob --scope read --out ${file}`)).code).toBe(0);
    const tcp = `--endpoint ${daemon.ready.endpoint} --token-file ${file}`;
    expect((await gin(`read a.txt ${tcp}`)).stdout).toBe("one\ntwo\nthree\n");
    const save = await gin(`save t.txt --from - --expect absent ${tcp}`, "t");
    expect([save.code, save.stderr.includes("SCOPE_FORBIDDEN")]).toEqual([1, true]);
    const none = await gin(`read a.txt --endpoint ${daemon.ready.endpoint}`);
    expect([none.code, none.stderr.includes("UNAUTHENTICATED")]).toEqual([1, true]);
    const [token] = (await json("token list")).tokens.filter((row: { principal: string }) => row.principal === "bob");
    expect((await gin(`token revoke ${token.id}`)).code).toBe(0);
    expect((await gin(`read a.txt ${tcp}`)).stderr).toContain("UNAUTHENTICATED");
    expect((await gin("token list")).stdout).toMatch(new RegExp(`${token.id} +bob +read +revoked`));
  });

  test("backup copies the store while it is in use", async () => {
    const into = join(tempDir("backup"), "copy");
    expect((await gin(`backup ${into}`)).code).toBe(0);
    expect(existsSync(join(into, "store.db"))).toBe(true);
  });

  test("hostile names and contents never steer a terminal", async () => {
    const name = "evil\x1b[31m\u202e.txt";
    writeFileSync(join(root, name), "\x1b]0;owned\x07 \x9b2J text\n");
    const lines = [
      ["read", "."],
      ["read", name],
      ["read", name, "--stat"],
      ["read", `${name}.none`],
      ["read", ".", "--json"],
      ["log"],
      ["context"],
    ];
    for (const line of lines) {
      const quoted = [process.execPath, ginBin, ...line, "--host", host].map((word) => `'${word}'`).join(" ");
      const { stdout } = await runCommand("script", ["-qec", quoted, "/dev/null"], { env: { NO_COLOR: "1" } });
      expect(stdout.length).toBeGreaterThan(10);
      expect([line, /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]/.test(stdout)]).toEqual([line, false]);
    }
  });
});

describe("gin serve without a directory", () => {
  const ready = (text: string): string => /^\{"ready":true.*\n/m.exec(text)?.[0] ?? "";

  /** What a terminal shows of `gin serve`, until it is told what to paste; then it is ended. */
  async function onTerminal(cwd: string, host: string): Promise<string> {
    const line = `stty cols 200; cd '${cwd}' && '${process.execPath}' '${ginBin}' serve --listen 127.0.0.1:0 --log-level error`;
    const terminal = spawnOwned("script", ["-qec", line, "/dev/null"], {
      env: { GIN_HOST: host, GIN_ROOT: undefined, NO_COLOR: "1" },
    });
    let text = "";
    let told = false;
    terminal.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more.replaceAll("\r\n", "\n");
      if (told || !text.includes("\n    }\n")) return;
      told = true;
      terminal.stdin.write("\x03");
    });
    await ended(terminal);
    return text;
  }

  test("serves the current directory, and tells a person endpoint, token file and what to paste", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "a\n");
    const text = await onTerminal(root, host);
    const { endpoint, token_file } = JSON.parse(ready(text));
    expect(text).toContain(`gin serves ${root}; Ctrl-C drains and ends it\n`);
    expect(text).toContain(`  TCP:  ${endpoint} with the token in ${token_file}\n`);
    const snippet = JSON.parse(/^ {4}\{$[\s\S]*^ {4}\}$/m.exec(text)?.[0] ?? "{}");
    expect(snippet.mcpServers.gin.args.slice(-3)).toEqual([host, "--root", root]);
  });

  test("serves GIN_ROOT instead when it is set", async () => {
    const { root, host } = tempHost();
    const daemon = await startDaemon({ host, cwd: dirname(root), env: { GIN_ROOT: root } });
    const { workspaces } = JSON.parse((await runGin(["status", "--json"], { host })).stdout);
    expect(workspaces.map((info: { root: string }) => info.root)).toEqual([root]);
    await daemon.stop();
  });

  test("refuses a current directory that holds the host, with its reason", async () => {
    const { host } = tempHost();
    const holding = await runGin(["serve", "--listen", "none", "--log-level", "error"], { host, cwd: dirname(host) });
    expect([holding.code, holding.stdout]).toEqual([1, ""]);
    expect(holding.stderr).toContain("gin: ROOT_OVERLAPS: the root holds gin's own state, or lies in it\n");
  });
});

test.each(["serve --listen none", "workspace open .", "backup copy", "token create b --scope read --out t"])(
  "gin %s in a working directory that is gone is refused on one line, with status 2",
  async (words) => {
    const { root, host } = tempHost();
    const line = `rmdir '${root}' && exec '${process.execPath}' '${ginBin}' ${words}`;
    const gone = await runCommand("sh", ["-c", line], { cwd: root, env: { GIN_HOST: host, GIN_ROOT: undefined } });
    expect([gone.code, gone.stdout, gone.stderr]).toEqual([
      2,
      "",
      "gin: PATH_NOT_FOUND: the current directory does not exist any more: go to another, or name absolute paths\n",
    ]);
  },
);

describe("daemons that come and go", () => {
  test("a command starts the daemon when there is none; --no-spawn does not; start, status and stop say so", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "a\n");
    const none = await runGin(["read", "a.txt", "--root", root, "--no-spawn"], { host });
    expect([none.code, none.stderr.includes("nothing was sent")]).toEqual([3, true]);
    expect((await runGin(["status"], { host })).code).toBe(3);
    expect(await runGin(["read", "a.txt", "--root", root], { host })).toMatchObject({ code: 0, stdout: "a\n" });
    expect((await runGin(["start"], { host })).stdout).toMatch(/^gin \S+ serves \(pid \d+, on demand\)\n$/);
    expect((await runGin(["status", "--json"], { host })).stdout).toContain('"mode":"on_demand"');
    expect((await runGin(["stop"], { host })).stdout).toBe("stopped\n");
    expect((await runGin(["stop"], { host })).stdout).toBe("no daemon is running\n");
    expect((await runGin(["read", "a.txt", "--root", root, "--no-spawn"], { host })).code).toBe(3);
  });

  test("commands that start at once share one daemon", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "a\n");
    try {
      const all = await Promise.all(Array.from({ length: 5 }, () => runGin(["read", "a.txt", "--root", root], { host })));
      for (const { code, stdout, stderr } of all) expect([code, stdout, stderr]).toEqual([0, "a\n", ""]);
      const { workspaces } = JSON.parse((await runGin(["status", "--json"], { host })).stdout);
      expect(workspaces.length).toBe(1);
    } finally {
      await stopped(host);
    }
  });

  test("a daemon that does not answer is ended by its recorded and verified process", async () => {
    const { root, host } = tempHost();
    const daemon = await startDaemon({ host, root });
    process.kill(pidOf(daemon), "SIGSTOP");
    const doctor = await runGin(["doctor", "--timeout", "300ms"], { host });
    expect([doctor.code, doctor.stdout.includes("does not answer")]).toEqual([1, true]);
    const stop = await runGin(["stop", "--timeout", "300ms", "--kill-after", "100ms"], { host });
    expect([stop.code, stop.stdout]).toEqual([0, "killed\n"]);
    expect(runs(pidOf(daemon))).toBe(false);
  }, 60_000);

  test("a process that only has the recorded id is left alone", async () => {
    const { host } = tempHost();
    const { metadata } = locateHost({ host });
    writeMetadata(metadata, {
      pid: process.pid,
      process_start: "another-boot:1",
      started_ms: 0,
      version: "0.1.0",
      protocol: 1,
      socket: join(host, "none.sock"),
      endpoint: "",
      mode: "on_demand",
    });
    expect((await runGin(["stop"], { host })).stdout).toBe("no daemon is running\n");
  });

  test.each([
    ["before it takes the request", false, "OUTCOME_NOT_FOUND"],
    ["after it committed, before its answer arrives", true, "OUTCOME_COMMITTED"],
  ])("a daemon killed %s leaves status 4, and the printed command tells what became of it", async (_when, forward, outcome) => {
    const { root, host } = tempHost();
    const daemon = await startDaemon({ host, root });
    const socket = await killingProxy(daemon, forward);
    const { code, stderr } = await runGin(
      ["save", "a.txt", "--from", "-", "--expect", "absent", "--endpoint", `unix:${socket}`],
      { host, input: "a" },
    );
    expect([code, stderr.includes("the outcome is unknown")]).toEqual([4, true]);
    const id = /gin outcome (rq_[0-9a-v]{20})/.exec(stderr)?.[1] ?? "";
    try {
      const told = await runGin(["outcome", id, "--json"], { host });
      expect(JSON.parse(told.stdout).outcome).toBe(outcome);
      expect(existsSync(join(root, "a.txt"))).toBe(forward);
    } finally {
      await stopped(host);
    }
  });

  test("an older daemon on demand is drained and replaced; its socket and lock pass on", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "a\n");
    try {
      expect((await runGin(["read", "a.txt", "--root", root], { host })).code).toBe(0);
      const { metadata } = locateHost({ host });
      const before = readMetadata(metadata);
      if (before === undefined) throw new Error("the daemon published nothing");
      // What an older build would have published of itself.
      writeMetadata(metadata, { ...before, version: "0.0.1" });
      const { code, stdout, stderr } = await runGin(["read", "a.txt", "--root", root], { host });
      expect([code, stdout]).toEqual([0, "a\n"]);
      expect(stderr).toMatch(/^gin: gin 0\.0\.1 was drained and gin \S+ started in its place\n$/);
      const after = readMetadata(metadata);
      expect(after?.pid).not.toBe(before.pid);
      expect(runs(before.pid)).toBe(false);
    } finally {
      await stopped(host);
    }
  }, 60_000);

  test("what is wrong with a host is told with the command that mends it", async () => {
    const { host } = tempHost();
    chmodSync(host, 0o755);
    const doctor = await runGin(["doctor"], { host });
    expect([doctor.code, doctor.stdout.includes(`chmod 700 '${host}'`)]).toEqual([1, true]);
    const read = await runGin(["read", "a"], { host });
    expect(read.code).toBe(3);
    expect(read.stderr).toContain("chmod 700");
    chmodSync(host, 0o700);
    writeFileSync(join(host, "config.json"), '{"frob":1}', { mode: 0o600 });
    const refused = await runGin(["read", "a"], { host });
    expect([refused.code, refused.stderr.includes("frob")]).toEqual([3, true]);
    expect(statSync(host).mode & 0o777).toBe(0o700);
  });
});

/**
 * A socket before the daemon's that takes one request whole, lets it through or not, and kills the daemon: when it was let through, at the
 * first byte of the answer, which the client never sees.
 */
async function killingProxy(daemon: TestDaemon, forward: boolean): Promise<string> {
  const path = join(tempDir("proxy"), "p.sock");
  const server = createServer((client) => {
    const end = (): void => {
      void daemon.kill().then(() => client.destroy());
    };
    const upstream = connect(daemon.ready.socket);
    upstream.on("error", () => client.destroy());
    upstream.once("data", end);
    let text = "";
    client.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
      if (text.length - text.indexOf("\r\n\r\n") - 4 < length) return;
      if (forward) upstream.write(Buffer.from(text, "latin1"));
      else end();
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  atTeardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return path;
}

/** Whether a process still runs; one that ended and was not reaped does not. */
function runs(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

/** A daemon's process id; never 0, which would mean this test's own group. */
function pidOf(daemon: TestDaemon): number {
  const { pid } = daemon.child;
  if (pid === undefined) throw new Error("the daemon was never started");
  return pid;
}
