import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { type Fs, nodeFs } from "../../../src/daemon/base/index.ts";
import { tempDir } from "../../helpers/temp.ts";
import { copyImage, diskFiles, openSite, type Site, saveInput } from "./site.ts";
import { bundleVictim, type RunVictim } from "./victim-bundle.ts";

let run: RunVictim;

beforeAll(async () => {
  run = await bundleVictim();
});

/** A name as gin makes them. */
const TEMP = `.gin-tmp-${"0123456789abcdef".repeat(2)}`;
function temps(directory: string): string[] {
  const root = join(directory, "ws");
  return existsSync(root) ? [...diskFiles(root).keys()].filter((path) => path.includes(".gin-tmp-")) : [];
}

/** Opens the next term, and tells whether it searched the tree for temps. */
async function next(directory: string, boot = "boot-1"): Promise<{ readonly site: Site; readonly searched: boolean }> {
  let listed = 0;
  const fs: Fs = {
    ...nodeFs,
    readdirTypesSync(path) {
      listed++;
      return nodeFs.readdirTypesSync(path);
    },
  };
  const site = await openSite(directory, { fs, boot });
  return { site, searched: listed > 0 };
}

const save = (site: Site, text: string, over = "") => {
  const expect = over === "" ? "absent" : createHash("sha256").update(over).digest("hex");
  return site.workspace.save(saveInput(site, text, [{ path: `d/${over || text}`, expect, content: Buffer.from(text) }]));
};

test("after a term that ended in order the tree is not searched for temps; the first, and one after another boot, do search", async () => {
  const directory = tempDir("clean-end");
  const first = await next(directory);
  expect(first.searched).toBe(true);
  await save(first.site, "one");
  await first.site.close();
  const second = await next(directory);
  expect(second.searched).toBe(false);
  await save(second.site, "two");
  await second.site.close();
  const third = await next(directory, "boot-2");
  expect(third.searched).toBe(true);
  await third.site.close();
});

test.each(["stage.created", "stage.written", "save.committed", "apply.displaced"] as const)(
  "killed at %s after a term that ended in order: what was left is swept",
  async (point) => {
    const directory = tempDir("clean-end");
    const orders = { directory, journal: join(directory, "journal"), boot: "boot-1" };
    // Whether the save that is hit stages anything is chance: a removal does not.
    for (let tried = 0; tried < 8 && temps(directory).length === 0; tried++) {
      expect(run({ ...orders, label: `in-order-${tried}`, saves: 3, nth: 0 })).toBe(false);
      expect(temps(directory)).toEqual([]);
      expect(run({ ...orders, label: `killed-${tried}`, saves: 8, point, nth: 2 })).toBe(true);
    }
    expect(temps(directory)).not.toEqual([]);
    const { site, searched } = await next(directory);
    expect(searched).toBe(true);
    expect(temps(directory)).toEqual([]);
    await site.close();
  },
);

test("killed before it did anything: the end of the term before is not believed once more", async () => {
  const directory = tempDir("clean-end");
  const orders = { directory, journal: join(directory, "journal"), boot: "boot-1", saves: 1, nth: 1 };
  expect(run({ ...orders, label: "in-order", nth: 0 })).toBe(false);
  expect(run({ ...orders, label: "killed", point: "recover.begin" })).toBe(true);
  const { site, searched } = await next(directory);
  expect(searched).toBe(true);
  await site.close();
});

test("the store of another directory is not believed, nor a term that another has followed", async () => {
  const directory = tempDir("clean-end");
  const { site } = await next(directory);
  await save(site, "one");
  await site.close();
  const copy = tempDir("clean-end-copy");
  copyImage(directory, copy);
  // Another directory, though it looks the same.
  const moved = await next(copy);
  expect(moved.searched).toBe(true);
  const epoch = Number(moved.site.store.read.workspaces()[0]?.epoch);
  await moved.site.store.write("ended", { workspace: 1, epoch: epoch - 1, mark: "too late" });
  expect(moved.site.store.read.ended(1)).toBeUndefined();
  await moved.site.close();
});

test("a temp that could not be removed, or went with its directory, is searched for by the next term", async () => {
  const directory = tempDir("clean-end");
  let refuse = false;
  const fs: Fs = {
    ...nodeFs,
    unlinkSync(path) {
      if (refuse) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "unlink" });
      nodeFs.unlinkSync(path);
    },
  };
  const site = await openSite(directory, { fs, rootOptions: { exchange: "off" } });
  await save(site, "one");
  refuse = true;
  await save(site, "two", "one").catch(() => undefined);
  refuse = false;
  await site.close().catch(() => site.store.close());
  const { site: after, searched } = await next(directory);
  expect(searched).toBe(true);
  expect(temps(directory)).toEqual([]);
  await after.close();
});

test("what somebody makes under a temp's name after an end in order stays, and is not served", async () => {
  const directory = tempDir("clean-end");
  const { site } = await next(directory);
  await site.close();
  mkdirSync(join(directory, "ws", "x"));
  writeFileSync(join(directory, "ws", "x", TEMP), "whose?");
  const { site: after } = await next(directory);
  expect(temps(directory)).toEqual([`x/${TEMP}`]);
  await expect(after.workspace.facts(`x/${TEMP}`, {} as never)).rejects.toMatchObject({ reason: "PATH_SENSITIVE" });
  await after.close();
});
