// An editor that opened a file before a save took its place writes on into the file that was displaced, however long it takes.
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { TEMP_PREFIX } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "./model.ts";
import { copyImage, openSite, type Site, saveInput } from "./site.ts";

const text = (value: string): Buffer => Buffer.from(value);
const kept = (site: Site, value: string): boolean => site.store.read.hasObject(hashOf(text(value)));
const temps = (directory: string): string[] => readdirSync(join(directory, "ws")).filter((name) => name.startsWith(TEMP_PREFIX));
const patient = { timeout: 20_000, interval: 20 };

/** A site whose file `a` was opened (and emptied) by an editor in the moment a save had decided to replace it. */
async function opened(directory: string, truncate: boolean): Promise<{ site: Site; fd: number }> {
  let fd = -1;
  const hit = (at: string): void => {
    if (at === "save.committed" && fd < 0) fd = openSync(join(directory, "ws", "a"), truncate ? "w" : "r+");
  };
  const first = await openSite(directory);
  await first.workspace.save(saveInput(first, "r0", [{ path: "a", expect: "absent", content: text("old") }]));
  await first.close();
  const site = await openSite(directory, { failPoints: { hit } });
  const edit = { path: "a", expect: hashOf(text("old")), content: text("ours") };
  await site.workspace.save(saveInput(site, "r1", [edit]));
  expect(fd).toBeGreaterThan(0);
  expect(readFileSync(join(directory, "ws", "a"), "utf8")).toBe("ours");
  return { site, fd };
}

function finish(fd: number, value: string): void {
  writeSync(fd, value, 0);
  closeSync(fd);
}

const UNTOLD = "needs koffi on Linux: else nobody tells who has a file open";

/** Whether this machine tells who has a file open; without koffi only a grace of seconds does. */
async function tells(): Promise<boolean> {
  return import("koffi").then(
    () => process.platform === "linux",
    () => false,
  );
}

it.for([true, false])(
  "what it writes after every look is recorded, and its temp goes (it truncated first: %s)",
  async (truncate, ctx) => {
    if (!(await tells())) return ctx.skip(UNTOLD);
    const directory = tempDir("late");
    const { site, fd } = await opened(directory, truncate);
    atTeardown(() => site.close());
    // The first look is over, and found it open.
    await vi.waitFor(() => expect(site.store.read.lingering(site.workspace.rowid)).toHaveLength(1), patient);
    await vi.waitFor(() => expect(site.store.read.openSaves(site.workspace.rowid)).toEqual([]), patient);
    finish(fd, "theirs, late");
    await vi.waitFor(() => expect(kept(site, "theirs, late")).toBe(true), patient);
    await vi.waitFor(() => expect(temps(directory)).toEqual([]), patient);
    expect(site.store.read.lingering(site.workspace.rowid)).toEqual([]);
    expect(readFileSync(join(directory, "ws", "a"), "utf8")).toBe("ours");
  },
);

it("stays over an orderly end of the daemon, and what it wrote meanwhile is recorded at the next start", async (ctx) => {
  if (!(await tells())) return ctx.skip(UNTOLD);
  const directory = tempDir("late-stop");
  const { site, fd } = await opened(directory, true);
  await site.close();
  expect(temps(directory)).toHaveLength(1);
  finish(fd, "theirs, between two daemons");
  const next = await openSite(directory);
  atTeardown(() => next.close());
  expect(kept(next, "theirs, between two daemons")).toBe(true);
  expect(temps(directory)).toEqual([]);
});

it("goes on under the eyes of the next daemon when it is still open at its start", async (ctx) => {
  if (!(await tells())) return ctx.skip(UNTOLD);
  const directory = tempDir("late-open");
  const { site, fd } = await opened(directory, false);
  await site.close();
  const next = await openSite(directory);
  atTeardown(() => next.close());
  expect(temps(directory)).toHaveLength(1);
  finish(fd, "theirs, under the next daemon");
  await vi.waitFor(() => expect(kept(next, "theirs, under the next daemon")).toBe(true), patient);
  await vi.waitFor(() => expect(temps(directory)).toEqual([]), patient);
});

it("is found by its row although the journal of the save that displaced it is gone and the daemon was killed", async (ctx) => {
  if (!(await tells())) return ctx.skip(UNTOLD);
  const [directory, killed] = [tempDir("late-kill"), tempDir("late-killed")];
  const { site, fd } = await opened(directory, false);
  atTeardown(() => site.close());
  await vi.waitFor(() => {
    expect(site.store.read.lingering(site.workspace.rowid)).toHaveLength(1);
    expect(site.store.read.openSaves(site.workspace.rowid)).toEqual([]);
  }, patient);
  writeSync(fd, "theirs, before the kill", 0);
  copyImage(directory, killed);
  closeSync(fd);
  const next = await openSite(killed);
  atTeardown(() => next.close());
  expect(kept(next, "theirs, before the kill")).toBe(true);
  expect(temps(killed)).toEqual([]);
});
