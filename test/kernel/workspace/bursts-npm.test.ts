import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { createDiffer, createOrigins } from "../../../src/daemon/history/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { byCause, diskTree, noticed, openLiving } from "./living.ts";
import { hashOf } from "./model.ts";
import { quiet, type Site, saveInput } from "./site.ts";
import { treeOf } from "./whole.ts";

const PACKAGES = 8;
const FILES = scaled(60);
/** Files a client appends to by turns, and lines after which it takes others. */
const LOGS = 5;
const LINES = 20;

/** Milliseconds between a client's saves: npm needs the machine as well. */
const PACE_MS = 20;

/** `ws/` with a package.json and a lock file, and the tarballs these name beside it. Undefined where npm is not installed. */
let project: string | undefined;

beforeAll(async () => {
  if ((await runCommand("npm", ["--version"]).catch(() => undefined))?.code !== 0) return;
  project = tempDir("npm-project");
  const names = Array.from({ length: PACKAGES }, (_, index) => `part-${index}`);
  for (const name of names) {
    put(project, `packages/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", bin: { [name]: "bin/run.js" } }));
    put(project, `packages/${name}/bin/run.js`, "#!/usr/bin/env node\n");
    for (let index = 0; index < FILES; index++)
      put(project, `packages/${name}/lib/${index % 7}/f${index}.js`, `// ${name} ${index}\n`);
  }
  await npm(join(project, "packages"), "pack", ...names.map((name) => `./${name}`));
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:../packages/${name}-1.0.0.tgz`]));
  put(project, "ws/package.json", JSON.stringify({ name: "whole", version: "1.0.0", dependencies }));
  await npm(join(project, "ws"), "install", "--package-lock-only");
});

function put(directory: string, path: string, value: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), value);
}

/** Runs npm so that it asks no registry and nobody's configuration. */
async function npm(cwd: string, ...args: string[]): Promise<void> {
  const env = {
    ...Object.fromEntries(Object.keys(process.env).flatMap((key) => (/^npm_/i.test(key) ? [[key, undefined]] : []))),
    HOME: join(cwd, "../home"),
    npm_config_cache: join(cwd, "../cache"),
    npm_config_update_notifier: "false",
  };
  const done = await runCommand("npm", [...args, "--offline", "--no-audit", "--no-fund"], { cwd, env });
  expect(done.code, `npm ${args.join(" ")}: ${done.stderr}`).toBe(0);
}

/** A client that appends a line a save to files of its own until told to end; gives who wrote each line of each of them. */
function appending(site: Site, principal: string) {
  let going = true;
  let saves = 0;
  const lines = new Map<string, { text: string; requestId: string; checkpoint: string }[]>();
  const textOf = (path: string): string => (lines.get(path) ?? []).map(({ text }) => `${text}\n`).join("");
  const run = (async () => {
    while (going) {
      const path = `clients/${principal}/${Math.floor(saves / (LOGS * LINES))}-${saves % LOGS}.txt`;
      const text = `${principal} wrote ${saves}`;
      const requestId = `${principal}-${saves}`;
      const wrote = lines.get(path) ?? [];
      const expect = wrote.length === 0 ? ("absent" as const) : hashOf(Buffer.from(textOf(path)));
      const content = Buffer.from(`${textOf(path)}${text}\n`);
      const { checkpoint } = await site.workspace.save(saveInput(site, requestId, [{ path, expect, content }], { principal }));
      lines.set(path, [...wrote, { text, requestId, checkpoint }]);
      saves++;
      await new Promise((resolve) => setTimeout(resolve, PACE_MS));
    }
  })();
  return {
    saves: () => saves,
    async end() {
      going = false;
      await run;
      return [...lines].map(([path, wrote]) => ({ path, text: textOf(path), wrote }));
    },
  };
}

it.for([false, true])(
  "keeps up with npm ci, run twice, while four clients save (node_modules ignored: %s)",
  async (ignored, ctx) => {
    if (project === undefined) return ctx.skip("npm is not installed");
    const directory = tempDir("bursts-npm");
    const root = join(directory, "ws");
    cpSync(project, directory, { recursive: true });
    if (ignored) put(root, ".gitignore", "node_modules/\n");
    const site = await openLiving(directory);
    const disk = () => diskTree(root, ignored ? ["node_modules"] : []);
    expect(treeOf(site)).toEqual(disk());

    const clients = ["ann", "ben", "cy", "di"].map((name) => appending(site, name));
    for (let round = 0; round < 2; round++) {
      const before = clients.map(({ saves }) => saves());
      await npm(root, "ci");
      // Each went on meanwhile.
      expect(clients.filter(({ saves }, index) => saves() <= (before[index] ?? 0))).toEqual([]);
    }
    const files = (await Promise.all(clients.map((client) => client.end()))).flat();

    await noticed(site, disk());
    const { head, generation } = await site.workspace.sync();
    expect(treeOf(site)).toEqual(disk());
    const installed = Object.keys(diskTree(root)).filter((path) => path.startsWith("node_modules/"));
    // Of each package its files, its package.json, its program and a link to that; and npm's own list.
    expect(installed.length).toBe(PACKAGES * (FILES + 3) + 1);
    expect(Object.keys(treeOf(site)).filter((path) => path.startsWith("node_modules/")).length).toBe(
      ignored ? 0 : installed.length,
    );
    console.log(`checkpoints: ${JSON.stringify(byCause(site))}`);

    // No save that was answered is lost, none is taken for a change outside, and each line is that of its save.
    const { read, trees } = site.store;
    const differ = createDiffer();
    const origins = createOrigins({ store: site.store, differ, clock: systemClock, log: quiet });
    for (const { path, text, wrote } of files) {
      expect(readFileSync(join(root, path), "utf8")).toBe(text);
      const content = trees.get(read.checkpoint(head)?.tree ?? "", path);
      if (content === null) throw new Error(`${path} is not recorded`);
      const { spans } = await origins.file(site.workspace.rowid, path, generation, content);
      const facts = spans.flatMap(({ startLine, endLine, origin }) =>
        Array.from({ length: endLine - startLine + 1 }, () => [
          origin?.cause,
          origin?.principal,
          origin?.requestId,
          origin?.checkpoint,
        ]),
      );
      const principal = path.split("/")[1];
      expect(facts).toEqual(wrote.map(({ requestId, checkpoint }) => ["save", principal, requestId, checkpoint]));
    }
    const others = read.checkpoints({ workspace: site.workspace.rowid, limit: 100_000 }).filter(({ cause }) => cause !== "save");
    expect(others.flatMap(({ id }) => read.touchedBelow(id, "clients", 1))).toEqual([]);
    expect(new Set(others.map(({ cause }) => cause))).toEqual(new Set(ignored ? ["import"] : ["import", "external"]));
  },
);
