import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { FAIL_POINTS, type FailPoint } from "../../../src/daemon/base/index.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "./model.ts";
import { openSite, type Site } from "./site.ts";
import { bundleVictim, type RunVictim } from "./victim-bundle.ts";
import { imported, loggedOf, treeOf } from "./whole.ts";

let run: RunVictim;
beforeAll(async () => {
  run = await bundleVictim();
});

/** Every point an import passes, those of the store's transactions among them. */
const POINTS = FAIL_POINTS.filter((point) => /^(import|commit|side)\./.test(point));

/** More files than one chunk holds, some too large for the table; gives what treeOf must say. */
function plant(random: Chance, root: string): Record<string, string> {
  const wanted: Record<string, string> = {};
  const put = (path: string, bytes: Buffer): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), bytes);
    const executable = random.maybe(0.1);
    if (executable) chmodSync(join(root, path), 0o755);
    wanted[path] = executable ? `${hashOf(bytes)} x` : hashOf(bytes);
  };
  for (let index = 0; index < 1_100; index++) put(`d${index % 40}/f${index}`, Buffer.from(`${index} ${random.int(2 ** 30)}\n`));
  for (let index = 0; index < 3; index++) put(`large${index}`, Buffer.alloc(1_500_000 + random.int(9), `${index}`));
  symlinkSync("d1/f1", join(root, "link"));
  wanted.link = `-> ${hashOf(Buffer.from("d1/f1"))}`;
  return wanted;
}

/** What is wrong with a site whose import ended, by what it must hold. */
function faultsOf(site: Site, wanted: Record<string, string>): string[] {
  const faults: string[] = [];
  const row = site.store.read.workspaces()[0];
  const base = site.store.read.checkpoint(row?.base ?? "");
  const same = (tree: Record<string, string>): boolean =>
    JSON.stringify(tree) ===
    JSON.stringify(Object.fromEntries(Object.entries(wanted).sort(([one], [other]) => (one < other ? -1 : 1))));
  if (row?.imported !== true || base?.generation !== 0) faults.push("there is no base");
  else if (!same(treeOf(site, base.tree))) faults.push("the base is not what was imported");
  if (!same(treeOf(site))) faults.push("the head is not what is on disk");
  for (const [cause] of loggedOf(site)) if (cause !== "import") faults.push(`a checkpoint of cause ${cause}`);
  const touched = loggedOf(site).reduce((sum, [, count]) => sum + count, 0);
  if (touched !== Object.keys(wanted).length)
    faults.push(`${touched} paths were recorded, ${Object.keys(wanted).length} are there`);
  for (const { content } of site.store.trees.walk(site.workspace.tree(), ""))
    if (!site.store.read.hasObject(content.sha256)) faults.push("a content is not kept");
  return faults;
}

it("kill -9 at every point of an import: the next start goes on, and the same base and head come of it", async () => {
  const random = chance("import kills");
  const killedAt = new Set<FailPoint>();
  const broken: string[] = [];
  const inStore = POINTS.filter((point) => !point.startsWith("import."));
  // The store's points have a test of their own, with saves: two of them do here, unless there is time for all.
  const some = scaled(1) > 1 ? inStore : [random.pick(inStore), random.pick(inStore)];
  const points = POINTS.filter((point) => point.startsWith("import.") || some.includes(point));
  for (let round = 0; round < scaled(1); round++) {
    for (const point of points) {
      const directory = tempDir("import-kill");
      const root = join(directory, "ws");
      mkdirSync(root);
      const wanted = plant(random, root);
      const orders = { directory, journal: join(directory, "journal"), label: point, boot: "boot-1", saves: 0, import: true };
      if (run({ ...orders, point, nth: 1 + random.int(round === 0 ? 1 : 3) })) killedAt.add(point);
      // One in three dies a second time, somewhere else.
      if (random.maybe(0.3)) run({ ...orders, point: random.pick(POINTS), nth: 1 });
      const site = await openSite(directory, { import: true });
      await imported(site);
      broken.push(...faultsOf(site, wanted).map((fault) => `${point}: ${fault}`));
      const { generation } = site.workspace.state();
      await site.close();
      const again = await openSite(directory, { import: true });
      await again.workspace.sync();
      if (again.workspace.state().generation !== generation) broken.push(`${point}: another start recorded something`);
      await again.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }
  expect(broken).toEqual([]);
  expect(points.filter((point) => !killedAt.has(point))).toEqual([]);
}, 600_000);
