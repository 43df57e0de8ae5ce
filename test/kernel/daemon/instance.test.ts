import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { locateHost, readMetadata } from "../../../src/paths/index.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { post, refusal, run, runtime } from "./daemon-process.ts";

const mode = (file: string): string => (lstatSync(file).mode & 0o777).toString(8);

describe("a host", () => {
  it("is served by one daemon: the second one names the first and leaves it alone", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const ready = await first.ready;
    const second = await refusal({ host, roots: [root] }, { env });
    expect(second.code).toBe(1);
    expect(second.said).toContain(`BUSY: a daemon already serves this host (pid ${first.child.pid}, version ${ready.version})`);
    expect((await post(ready, "GinService/Capabilities", {})).status).toBe(200);
  });

  it("is won by exactly one of five that start in the same instant", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const racers = Array.from({ length: 5 }, () => run({ host, roots: [root] }, { env }));
    const ends = await Promise.all(racers.map((racer) => Promise.race([racer.ready.then((): "ready" => "ready"), racer.ended])));
    expect(ends.filter((end) => end === "ready")).toHaveLength(1);
    for (const [at, end] of ends.entries()) {
      if (end === "ready") continue;
      expect(end.code).toBe(1);
      expect(racers[at]?.stderr()).toContain("BUSY: a daemon already serves this host");
    }
    expect((await post({ socket: locateHost({ host }, env).socket }, "GinService/Capabilities", {})).status).toBe(200);
  });

  it("is free at once after kill -9, its stale socket and metadata replaced", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const { socket } = await first.ready;
    first.child.kill("SIGKILL");
    await first.ended;
    const paths = locateHost({ host }, env);
    expect([existsSync(socket), readMetadata(paths.metadata)?.pid]).toEqual([true, first.child.pid]);
    const second = run({ host, roots: [root] }, { env });
    expect((await second.ready).socket).toBe(socket);
    expect(readMetadata(paths.metadata)?.pid).toBe(second.child.pid);
    expect((await post({ socket }, "GinService/Capabilities", {})).status).toBe(200);
  });

  it("is waited for when the one that has it is leaving", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const { socket } = await first.ready;
    const second = run({ host, lock_wait_ms: 30_000 }, { env });
    expect((await post({ socket }, "AdminService/Shutdown", { request_id: "r-1" })).status).toBe(200);
    expect(await first.ended).toEqual({ code: 0, signal: null });
    await second.ready;
    expect((await post({ socket }, "GinService/Capabilities", {})).status).toBe(200);
  });

  it("keeps to itself: directories 0700, files and socket 0600", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const started = run({ host, roots: [root], settings: { listen: ":0" } }, { env });
    const ready = await started.ready;
    const paths = locateHost({ host }, env);
    for (const directory of [host, paths.data, paths.tokens, dirname(paths.log), paths.socketDirectory])
      expect(mode(directory)).toBe("700");
    for (const file of [paths.socket, paths.metadata, paths.log, ready.token_file]) expect(mode(file)).toBe("600");
    expect(lstatSync(paths.socket).isSocket()).toBe(true);
  });

  it("is refused when it is open to others, or its configuration has an unknown key or is open to others", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const open = join(tempDir("open"), "host");
    mkdirSync(open, { mode: 0o755 });
    const refused = await refusal({ host: open, roots: [root] }, { env });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain("is open to others (mode 755)");
    expect(mode(open)).toBe("755");
    writeFileSync(join(host, "config.json"), '{"colour":"red"}', { mode: 0o600 });
    expect(await refusal({ host, roots: [root] }, { env })).toMatchObject({
      code: 1,
      said: expect.stringContaining('unknown configuration key "colour"'),
    });
    expect(existsSync(join(host, "data", "lock.db"))).toBe(false);
  });

  it("takes flag over environment over file", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(host, "config.json"), '{"log_level":"error","require_lease":"never"}', { mode: 0o600 });
    const started = run(
      { host, roots: [root], settings: { log_level: "info" } },
      { env: { ...runtime(), GIN_LOG_LEVEL: "warn", GIN_REQUIRE_LEASE: "always" } },
    );
    const { socket } = await started.ready;
    expect(readFileSync(join(host, "logs", "daemon.log"), "utf8")).toContain('"msg":"serving"');
    const answer = await post({ socket }, "GinService/Save", {
      request_id: "r-1",
      edits: [{ path: "a.txt", expect: "absent", text: "x" }],
    });
    expect(answer.reason).toBe("LEASE_REQUIRED");
  });

  it("serves under a home with a name of 300 characters", async () => {
    const { root } = tempHost();
    const home = join(tempDir("home"), "h".repeat(150), "i".repeat(150));
    mkdirSync(home, { recursive: true });
    const started = run({ roots: [root] }, { env: { HOME: home, XDG_STATE_HOME: undefined, XDG_RUNTIME_DIR: undefined } });
    const { socket } = await started.ready;
    expect(Buffer.byteLength(socket)).toBeLessThan(100);
    expect(statSync(join(home, ".local", "state", "gin")).isDirectory()).toBe(true);
    expect((await post({ socket }, "GinService/Capabilities", {})).status).toBe(200);
    started.child.kill("SIGTERM");
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(existsSync(socket)).toBe(false);
  });
});
