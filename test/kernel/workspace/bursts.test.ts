import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Clock, GinError, nodeCommands, systemClock } from "../../../src/daemon/base/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { Bell } from "../../helpers/bell.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { byCause, diskTree, noticed, openLiving } from "./living.ts";
import { hashOf } from "./model.ts";
import { diskFiles, openSite, type Site, saveInput } from "./site.ts";
import { loggedOf, treeOf, until } from "./whole.ts";

let directory: string;
let root: string;
beforeEach(() => {
  directory = tempDir("bursts");
  root = join(directory, "ws");
  mkdirSync(root);
});

function put(path: string, value: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), value);
}

const open = (store?: Store, clock?: Clock): Promise<Site> => openLiving(directory, store, clock);

/** The system's clock, which rings when a timer of a second or more has run: the watcher's looks at its root. */
function slowTimers(): { readonly clock: Clock; readonly bell: Bell; readonly rung: () => number } {
  const bell = new Bell();
  let rung = 0;
  const after: Clock["after"] = (ms, callback) =>
    systemClock.after(ms, () => {
      callback();
      if (ms < 1_000) return;
      rung += 1;
      bell.ring();
    });
  return { clock: { ...systemClock, after }, bell, rung: () => rung };
}

function git(...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@t", ...args], { encoding: "utf8", env });
}

/** Saves of one client on paths of its own, one after the other, until told to end; each must be committed. */
function saving(site: Site, name: string): { end(): Promise<Map<string, string>> } {
  let going = true;
  const last = new Map<string, string>();
  const run = (async () => {
    for (let count = 0; going; count++) {
      const path = `clients/${name}/${count % 7}`;
      const content = `${name} ${count}\n`;
      const expect = last.has(path) ? hashOf(Buffer.from(last.get(path) ?? "")) : ("absent" as const);
      await site.workspace.save(saveInput(site, `${name}-${count}`, [{ path, expect, content: Buffer.from(content) }]));
      last.set(path, content);
    }
  })();
  return {
    async end() {
      going = false;
      await run;
      return last;
    },
  };
}

it("records 10,000 files made in one folder in a burst as one checkpoint, and one of them changed as another", async () => {
  const count = scaled(10_000);
  put("a", "a\n");
  const site = await open();
  mkdirSync(join(root, "many"));
  for (let index = 0; index < count; index++) writeFileSync(join(root, `many/f${index}`), `${index}\n`);
  await site.workspace.sync();
  await noticed(site, diskTree(root));
  const external = byCause(site).external ?? 0;
  console.log(`${count} files were recorded as ${external} checkpoints`);
  // Made without giving way, so that no hint came between: what the watcher says afterwards adds nothing.
  expect(external).toBe(1);
  put("many/f77", "changed\n");
  await noticed(site, diskTree(root));
  expect(loggedOf(site).at(-1)).toEqual(["external", 1]);
}, 120_000);

it("holds up no save for the whole of a burst", async () => {
  put("a", "a\n");
  const site = await open(await openStore({ directory: join(directory, "data") }));
  const client = saving(site, "one");
  for (let index = 0; index < 5_000; index++) put(`b/${index % 50}/f${index}`, `${index}\n`);
  let longest = 0;
  let going = true;
  const ticks = (async () => {
    for (let from = performance.now(); going; from = performance.now()) {
      await new Promise((resolve) => setImmediate(resolve));
      longest = Math.max(longest, performance.now() - from);
    }
  })();
  await site.workspace.sync();
  going = false;
  await ticks;
  const last = await client.end();
  await site.workspace.sync();
  for (const [path, content] of last) expect(readFileSync(join(root, path), "utf8")).toBe(content);
  console.log(`the event loop was held up ${longest.toFixed(0)} ms at most`);
  // A slice is 10 ms; a busy machine may take the processor away for longer.
  expect(longest).toBeLessThan(500);
  expect(treeOf(site)).toEqual(diskTree(root));
}, 120_000);

it("keeps up with a checkout of another branch and a formatter over the whole tree while clients save", async () => {
  const random = chance("checkout");
  const files = scaled(900);
  git("init", "-q", "-b", "main");
  for (let index = 0; index < files; index++) put(`src/${index % 60}/f${index}.txt`, `one ${index}\n  two\n`);
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  git("checkout", "-q", "-b", "other");
  for (let index = 0; index < files; index++) {
    const path = `src/${index % 60}/f${index}.txt`;
    if (random.maybe(0.3)) rmSync(join(root, path));
    else if (random.maybe(0.6)) put(path, `other ${index}\n`);
  }
  for (let index = 0; index < files / 3; index++) put(`new/${index % 20}/n${index}`, `n ${index}\n`);
  git("add", "-A");
  git("commit", "-q", "-m", "other");
  git("checkout", "-q", "main");
  // With a store that writes in a thread of its own: one that writes in line would leave the loop no turn between saves.
  const site = await open(await openStore({ directory: join(directory, "data") }));
  expect((await site.workspace.git())?.headMoved).toBe(false);
  const clients = ["ann", "ben", "cy"].map((name) => saving(site, name));
  // In a process of its own, so that saves run meanwhile.
  const away = nodeCommands.run({ file: "git", args: ["-C", root, "checkout", "-q", "other"], cwd: root, env: {} });
  expect((await away).status).toBe(0);
  for (const [path, { bytes }] of diskFiles(root)) {
    if (!path.startsWith("src/")) continue;
    writeFileSync(join(root, path), bytes.toString().replaceAll("  ", "\t"));
    // A formatter is a process of its own: saves get their turns between its files.
    if (random.maybe(0.1)) await new Promise((resolve) => setImmediate(resolve));
  }
  const saved = await Promise.all(clients.map((client) => client.end()));
  await noticed(site, diskTree(root));
  await site.workspace.sync();
  const counts = byCause(site);
  console.log(`checkpoints: ${JSON.stringify(counts)}`);
  expect(treeOf(site)).toEqual(diskTree(root));
  for (const last of saved) for (const [path, content] of last) expect(readFileSync(join(root, path), "utf8")).toBe(content);
  expect(Object.keys(counts).sort()).toEqual(["external", "import", "save"]);
  expect(counts.external).toBeLessThanOrEqual(60);
  // What stood there before can be given back.
  for (const { content } of site.store.trees.walk(
    site.store.read.checkpoint(site.store.read.workspaces()[0]?.base ?? "")?.tree ?? "",
    "",
  ))
    expect(site.store.read.hasObject(content.sha256)).toBe(true);
  // It is told at most a second late, and all this may have taken less.
  await expect.poll(async () => (await site.workspace.git())?.headMoved, { timeout: 10_000 }).toBe(true);
}, 180_000);

it("keeps no more than the changed text beside a large binary and an ignored build folder", async () => {
  put(".gitignore", "build/\n");
  put("src/a.txt", "text\n".repeat(20_000));
  writeFileSync(join(root, "video.bin"), "");
  truncateSync(join(root, "video.bin"), 200 * 1024 * 1024);
  mkdirSync(join(root, "build"));
  for (let index = 0; index < 8; index++) {
    writeFileSync(join(root, `build/o${index}`), "");
    truncateSync(join(root, `build/o${index}`), 100 * 1024 * 1024);
  }
  const empty = await openSite(join(directory, "empty"));
  const before = empty.store.read.facts().bytes;
  await empty.close();
  const site = await open();
  const binary = site.store.trees.get(site.workspace.tree(), "video.bin");
  expect([binary?.size, site.store.read.hasObject(binary?.sha256 ?? "")]).toEqual([200 * 1024 * 1024, false]);
  expect(Object.keys(treeOf(site))).toEqual([".gitignore", "src/a.txt", "video.bin"]);
  let text = 100_000;
  for (let round = 0; round < 10; round++) {
    const content = `${round} `.repeat(40_000);
    text += content.length;
    put("src/a.txt", content);
    await noticedOf(site, "src/a.txt", content);
  }
  const kept = site.store.read.facts().bytes - before;
  console.log(`${kept} bytes are kept of ${text} bytes of text`);
  expect(kept).toBeLessThan(2 * text);
}, 120_000);

function noticedOf(site: Site, path: string, content: string): Promise<void> {
  const wanted = hashOf(Buffer.from(content));
  const recorded = (): boolean => site.store.trees.get(site.workspace.tree(), path)?.sha256 === wanted;
  return until(site, recorded, `the change of ${path} is recorded`);
}

describe("the root", () => {
  it("that vanishes under the watcher is told at once, and nothing is made up or spins", async () => {
    for (let index = 0; index < 200; index++) put(`d${index % 10}/f${index}`, `${index}\n`);
    const { clock, bell, rung } = slowTimers();
    const site = await open(undefined, clock);
    renameSync(root, `${root}-away`);
    const refusal = await site.workspace
      .readHead("d1/f1", { authorise: () => {}, content: true })
      .catch((thrown: unknown) => thrown);
    expect(refusal instanceof GinError && refusal.reason).toBe("WORKSPACE_MISSING_ROOT");
    const busy = process.cpuUsage();
    // Between two looks at the root, which are seconds apart, nothing happens.
    const from = rung();
    await bell.until(() => rung() >= from + 2, 30_000);
    const { user, system } = process.cpuUsage(busy);
    expect((user + system) / 1e6).toBeLessThan(0.5);
    expect(byCause(site)).toEqual({ import: 1 });
    renameSync(`${root}-away`, root);
    put("d1/f1", "back\n");
    await noticed(site, diskTree(root));
    expect(byCause(site)).toEqual({ import: 1, external: 1 });
  }, 60_000);

  it("whose files are all deleted is a tree of deletions, whose contents are kept", async () => {
    for (let index = 0; index < 300; index++) put(`d${index % 10}/f${index}`, `${index}\n`);
    const site = await open();
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    await noticed(site, diskTree(root));
    await site.workspace.sync();
    expect(treeOf(site)).toEqual({});
    expect(site.store.read.hasObject(hashOf(Buffer.from("7\n")))).toBe(true);
  }, 60_000);
});
