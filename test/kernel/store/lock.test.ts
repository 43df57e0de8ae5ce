import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { checkIntegrity, openStore, readLockNote, takeLock } from "../../../src/daemon/store/index.ts";
import { freshDirectory, Line } from "../../unit/store/fixture.ts";

const CHILD = ["--import", "tsx", fileURLToPath(new URL("child.ts", import.meta.url))];

/** What another process is told when it tries. */
function tryElsewhere(file: string): unknown {
  return JSON.parse(spawnSync(process.execPath, [...CHILD, "lock", file, "other"], { encoding: "utf8" }).stdout);
}

it("keeps the lock whatever the process does with its store, and frees it on release", { timeout: 120_000 }, async () => {
  const directory = freshDirectory();
  const file = join(directory, "lock.db");
  const note = JSON.stringify({ pid: process.pid, version: "0.1.0", socket: "/run/gin.sock" });
  const lock = takeLock(file, note);
  if (!lock.held) throw new Error("a fresh lock was held");
  expect(tryElsewhere(file)).toEqual({ held: false, note });
  const store = await openStore({ directory: join(directory, "data") });
  const line = await Line.make(store);
  await line.save({ a: "1", large: Buffer.alloc(1_100_000, 1) });
  await store.write("backup", { directory: join(directory, "copy") });
  await store.write("upkeep", { nowMs: 1 });
  checkIntegrity(join(directory, "data"), true);
  await store.close();
  expect(readLockNote(file)).toBe(note);
  expect(takeLock(file, "me again")).toEqual({ held: false, note });
  expect(tryElsewhere(file)).toEqual({ held: false, note });
  lock.release();
  lock.release();
  expect(existsSync(`${file}.note`)).toBe(false);
  expect(tryElsewhere(file)).toEqual({ held: true });
});

it("is free again when its holder is killed, whose note stays until the next one's", { timeout: 120_000 }, async () => {
  const file = join(freshDirectory(), "lock.db");
  const holder = spawn(process.execPath, [...CHILD, "lock", file, "holder", "hold"], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  expect(takeLock(file, "mine")).toEqual({ held: false, note: "holder" });
  holder.kill("SIGKILL");
  await once(holder, "exit");
  expect(readLockNote(file)).toBe("holder");
  const lock = takeLock(file, "mine");
  expect(lock.held).toBe(true);
  expect(readLockNote(file)).toBe("mine");
  if (lock.held) lock.release();
});

it("says why when the file cannot be a lock", () => {
  expect(() => takeLock(join(freshDirectory(), "nowhere", "lock.db"), "")).toThrow();
  expect(readLockNote(join(freshDirectory(), "lock.db"))).toBe("");
});
