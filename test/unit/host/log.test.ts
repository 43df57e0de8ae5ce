import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { openLog, watchIdle } from "../../../src/daemon/host/index.ts";
import { PathsError } from "../../../src/paths/index.ts";
import { tempDir } from "../../helpers/temp.ts";

describe("the log", () => {
  it("writes one JSON line each, 0600, above the level asked for", () => {
    const file = join(tempDir("log"), "logs", "daemon.log");
    const log = openLog({ file, level: "info", maxBytes: 100_000, stderr: false });
    log.debug({}, "hidden");
    log.info({ request: "r-1" }, "shown");
    log.close();
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: 30, request: "r-1", msg: "shown", pid: process.pid });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("keeps four files of bounded size, the youngest lines in them", () => {
    const directory = join(tempDir("log"), "logs");
    const log = openLog({ file: join(directory, "daemon.log"), level: "info", maxBytes: 1_000, stderr: false });
    for (let at = 0; at < 100; at++) log.info({ at }, "x".repeat(100));
    log.close();
    const names = readdirSync(directory).sort();
    expect(names).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]);
    for (const name of names) expect(statSync(join(directory, name)).size).toBeLessThanOrEqual(1_000);
    const last = readFileSync(join(directory, "daemon.log"), "utf8").trimEnd().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ at: 99 });
  });

  it("goes on in the file of the daemon before", () => {
    const file = join(tempDir("log"), "logs", "daemon.log");
    for (const at of [1, 2]) {
      const log = openLog({ file, level: "info", maxBytes: 100_000, stderr: false });
      log.info({ at }, "line");
      log.close();
    }
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(2);
  });

  it("never holds the facts of an error, which may be file content", () => {
    const file = join(tempDir("log"), "logs", "daemon.log");
    const log = openLog({ file, level: "info", maxBytes: 100_000, stderr: false });
    const cause = Object.assign(new Error("disk"), { code: "EIO", content: "SECRET-1" });
    const err = new GinError("STALE_CONTENT", "a.txt changed", undefined, {
      cause,
      facts: { paths: [{ current_text: "SECRET-2" }] },
    });
    log.error({ err }, "refused");
    log.close();
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("SECRET");
    expect(JSON.parse(text)).toMatchObject({
      err: { reason: "STALE_CONTENT", message: "a.txt changed", cause: { code: "EIO", message: "disk" } },
    });
  });

  it("refuses a directory that is open to others", () => {
    const at = tempDir("log");
    mkdirSync(join(at, "logs"));
    chmodSync(join(at, "logs"), 0o755);
    expect(() => openLog({ file: join(at, "logs", "daemon.log"), level: "info", maxBytes: 100_000, stderr: false })).toThrow(
      PathsError,
    );
  });
});

describe("idleness", () => {
  it("counts from the last use, on the monotonic clock, and ends once", () => {
    let now = 0;
    let used = false;
    let ended = 0;
    let next: (() => void) | undefined;
    const clock = {
      wallMs: () => 0,
      monotonicMs: () => now,
      after: (_ms: number, callback: () => void) => {
        next = callback;
        return () => {
          next = undefined;
        };
      },
    };
    const tick = (at: number): void => {
      now = at;
      const callback = next;
      next = undefined;
      callback?.();
    };
    watchIdle({ clock, idleMs: 1_000, inUse: () => used, onIdle: () => ended++ });
    tick(900);
    used = true;
    tick(1_500);
    used = false;
    tick(2_400);
    expect(ended).toBe(0);
    tick(2_500);
    tick(9_000);
    expect([ended, next]).toEqual([1, undefined]);
  });
});
