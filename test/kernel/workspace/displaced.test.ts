import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FailPoint } from "../../../src/daemon/base/index.ts";
import type { EditInput } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "./model.ts";
import { copyImage, openSite, type Site, saveInput } from "./site.ts";

const text = (value: string): Buffer => Buffer.from(value);

/** A site that does `what` at the first hit of the point. */
async function siteAt(point: FailPoint, what: (root: string) => void): Promise<Site> {
  const directory = tempDir("displaced");
  let armed = true;
  const hit = (at: FailPoint): void => {
    if (at !== point || !armed) return;
    armed = false;
    what(join(directory, "ws"));
  };
  const site = await openSite(directory, { failPoints: { hit } });
  atTeardown(() => site.close());
  return site;
}

function aged(site: Site, path: string): EditInput {
  const at = join(site.directory, "ws", path);
  writeFileSync(at, `old ${path}`);
  utimesSync(at, 1_700_000_000, 1_700_000_000);
  return { path, expect: hashOf(text(`old ${path}`)), content: text(`ours ${path}`) };
}

/** A site whose directory is copied as a process killed at the point would leave it; an outside edit of `a` comes between a save's decision and its place. */
async function siteCopied(directory: string, point: FailPoint, to: string): Promise<Site> {
  let armed = true;
  const hit = (at: FailPoint): void => {
    if (at === "save.committed") writeFileSync(join(directory, "ws", "a"), "theirs a");
    if (at !== point || !armed) return;
    armed = false;
    copyImage(directory, to);
  };
  const site = await openSite(directory, { failPoints: { hit } });
  atTeardown(() => site.close());
  return site;
}

const onDisk = (site: Site, path: string): string => readFileSync(join(site.directory, "ws", path), "utf8");
const kept = (site: Site, value: string): boolean => site.store.read.hasObject(hashOf(text(value)));

describe("outside edits that a batch of saves displaced", () => {
  it("are kept whichever of its saves met them, and the workspace goes on", async () => {
    const site = await siteAt("save.committed", (root) => {
      for (const path of ["a", "c"]) writeFileSync(join(root, path), `theirs ${path}`);
    });
    const edits = ["a", "b", "c"].map((path) => aged(site, path));
    const outcomes = await Promise.all(edits.map((edit, at) => site.workspace.save(saveInput(site, `r${at}`, [edit]))));
    expect(outcomes.map(({ rescued }) => rescued.map(({ path }) => path))).toEqual([["a"], [], ["c"]]);
    expect(["a", "b", "c"].map((path) => onDisk(site, path))).toEqual(["ours a", "ours b", "ours c"]);
    expect([kept(site, "theirs a"), kept(site, "theirs c")]).toEqual([true, true]);
    expect(site.workspace.status().status).toBe("active");
    // What is recorded is what is on disk: a save that expects it is taken.
    const next = { path: "a", expect: hashOf(text("ours a")), content: text("next") };
    expect((await site.workspace.save(saveInput(site, "r9", [next]))).state).toEqual(site.workspace.state());
    for (const path of ["b", "c"])
      expect(site.store.trees.get(site.workspace.tree(), path)?.sha256).toBe(hashOf(text(`ours ${path}`)));
  });
});

describe("an outside edit whose place a save took in the moment the daemon was killed", () => {
  it.each(["recover.begin", "recover.swept", "recover.applied"] as const)(
    "is kept although the recovery is killed as well, at %s",
    async (point) => {
      const [first, second, third] = [tempDir("alive"), tempDir("killed"), tempDir("killed-again")];
      const site = await siteCopied(first, "apply.displaced", second);
      await site.workspace.save(saveInput(site, "r1", [aged(site, "a")]));
      await siteCopied(second, point, third);
      const last = await openSite(third);
      atTeardown(() => last.close());
      expect([kept(last, "theirs a"), onDisk(last, "a")]).toEqual([true, "ours a"]);
    },
  );
});
