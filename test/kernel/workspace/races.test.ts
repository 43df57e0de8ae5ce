import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type FailPoint, type Fs, GinError, nodeFs, noFailPoints } from "../../../src/daemon/base/index.ts";
import type { EditInput, SaveOutcome } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { checkImage } from "./check-image.ts";
import { hashOf } from "./model.ts";
import { copyImage, diskFiles, openSite, type Site, saveInput } from "./site.ts";

const text = (value: string): Buffer => Buffer.from(value);
const authorise = (): void => {};

/** A site that does `what` once, at the point. */
async function siteAt(point: FailPoint, what: (root: string) => void, exchange: "auto" | "off" = "auto"): Promise<Site> {
  const directory = tempDir("race");
  let armed = true;
  const site = await openSite(directory, {
    rootOptions: { exchange },
    failPoints: {
      hit(at) {
        if (at !== point || !armed) return;
        armed = false;
        what(join(directory, "ws"));
      },
    },
  });
  atTeardown(() => site.close());
  return site;
}

function aged(site: Site, path: string, value: string): string {
  const at = join(site.directory, "ws", path);
  writeFileSync(at, value);
  utimesSync(at, 1_700_000_000, 1_700_000_000);
  return hashOf(text(value));
}

const save = (site: Site, id: string, edits: EditInput[]): Promise<SaveOutcome> =>
  site.workspace.save(saveInput(site, id, edits));
const kept = (site: Site, value: string): boolean => site.store.read.hasObject(hashOf(text(value)));
const temps = (site: Site): string[] => readdirSync(join(site.directory, "ws")).filter((name) => name.startsWith(".gin-tmp-"));

describe.each(["auto", "off"] as const)(
  "an edit outside gin between the decision and its application (exchange %s)",
  (exchange) => {
    it("is kept in history, and the caller is told", async () => {
      const site = await siteAt("save.committed", (root) => writeFileSync(join(root, "a"), "theirs"), exchange);
      const was = aged(site, "a", "old");
      const outcome = await save(site, "r1", [{ path: "a", expect: was, content: text("ours") }]);
      expect(readFileSync(join(site.directory, "ws", "a"), "utf8")).toBe("ours");
      expect(outcome.rescued).toEqual([{ path: "a", sha256: hashOf(text("theirs")), checkpoint: expect.stringMatching(/^ck_/) }]);
      expect(kept(site, "theirs")).toBe(true);
      const log = site.store.read.checkpoints({ workspace: site.workspace.rowid, limit: 10 }).map((one) => one.cause);
      expect(log).toEqual(["save", "external", "save", "import"]);
      expect(outcome.state).toEqual(site.workspace.state());
      expect(site.store.trees.get(site.workspace.tree(), "a")?.sha256).toBe(hashOf(text("ours")));
    });

    it("is kept when it made a file where the save makes one, and when the save removes what it changed", async () => {
      const site = await siteAt(
        "save.committed",
        (root) => {
          writeFileSync(join(root, "new"), "theirs new");
          writeFileSync(join(root, "gone"), "theirs gone");
        },
        exchange,
      );
      const was = aged(site, "gone", "old");
      await save(site, "r1", [
        { path: "new", expect: "absent", content: text("ours") },
        { path: "gone", expect: was, delete: true },
      ]);
      expect(readFileSync(join(site.directory, "ws", "new"), "utf8")).toBe("ours");
      expect(existsSync(join(site.directory, "ws", "gone"))).toBe(false);
      expect([kept(site, "theirs new"), kept(site, "theirs gone")]).toEqual([true, true]);
    });

    it("is kept when its writer had the file open and wrote only after it was replaced", async () => {
      let open = -1;
      const site = await siteAt(
        "save.committed",
        (root) => {
          open = openSync(join(root, "a"), "r+");
          writeSync(open, "t");
        },
        exchange,
      );
      const was = aged(site, "a", "old text");
      await save(site, "r1", [{ path: "a", expect: was, content: text("ours") }]);
      writeSync(open, "heirs, late", 1);
      closeSync(open);
      await vi.waitFor(() => expect(kept(site, "their".concat("s, late"))).toBe(true), 15_000);
      await vi.waitFor(() => expect(temps(site)).toEqual([]), 15_000);
      expect(readFileSync(join(site.directory, "ws", "a"), "utf8")).toBe("ours");
    });

    it("leaves a directory that came in the way alone: committed, served from the store, put in place when it can be", async () => {
      const site = await siteAt(
        "save.committed",
        (root) => {
          unlinkSync(join(root, "a"));
          mkdirSync(join(root, "a"));
        },
        exchange,
      );
      const was = aged(site, "a", "old");
      const outcome = await save(site, "r1", [{ path: "a", expect: was, content: text("ours") }]);
      expect(outcome.applyPending).toBe(true);
      expect(site.workspace.applyPending()).toBe(1);
      expect(await site.workspace.readHead("a", { authorise, content: true })).toMatchObject({
        kind: "file",
        content: { sha256: hashOf(text("ours")) },
      });
      rmdirSync(join(site.directory, "ws", "a"));
      await vi.waitFor(() => expect(site.workspace.applyPending()).toBe(0), 10_000);
      expect(temps(site)).toEqual([]);
    });
  },
);

describe("a file system that refuses", () => {
  const CALLS = [
    "openSync",
    "writeSync",
    "fchmodSync",
    "linkSync",
    "renameSync",
    "unlinkSync",
    "mkdirSync",
    "readSync",
    "fstatSync",
    "readlinkSync",
    "fsync",
    "fdatasync",
  ] as const;

  /** The real one, but for its n-th call of `name` once `armed`. */
  function failing(
    name: (typeof CALLS)[number],
    nth: number,
    code: string,
    armed: () => boolean,
  ): { fs: Fs; failed: () => boolean } {
    let calls = 0;
    let failed = false;
    const error = (): Error => Object.assign(new Error(`${code}: injected`), { code, syscall: name, errno: -1 });
    const trip = (): boolean => {
      if (!armed() || ++calls !== nth) return false;
      failed = true;
      return true;
    };
    const fs = { ...nodeFs } as unknown as Record<string, (...given: unknown[]) => unknown>;
    const real = fs[name] as (...given: unknown[]) => unknown;
    fs[name] = (...given) => {
      if (!trip()) return real(...given);
      if (name === "fsync" || name === "fdatasync") return Promise.reject(error());
      throw error();
    };
    return { fs: fs as unknown as Fs, failed: () => failed };
  }

  it.each(CALLS)("in any call of %s leaves every path whole, and a save that was answered in place", async (name) => {
    for (const code of ["ENOSPC", "EIO", "EACCES"]) {
      for (let nth = 1; nth <= 12; nth++) {
        let armed = false;
        const { fs, failed } = failing(name, nth, code, () => armed);
        const directory = tempDir("nth");
        const site = await openSite(directory, { fs });
        aged(site, "a", "old a");
        aged(site, "b", "old b");
        armed = true;
        const edits: EditInput[] = [
          { path: "a", expect: hashOf(text("old a")), content: text("new a") },
          { path: "d/e/c", expect: "absent", content: text("new c") },
          { path: "b", expect: hashOf(text("old b")), delete: true },
        ];
        const said = await save(site, "r1", edits).then(
          (outcome) => outcome,
          (thrown: unknown) => thrown,
        );
        armed = false;
        await site.close().catch(() => {});
        const committed = !(said instanceof GinError);
        if (said instanceof GinError)
          expect(["DISK_FULL", "IO_FAILED", "WORKSPACE_MISSING_ROOT"], said.stack).toContain(said.reason);
        const history = { attempted: new Map([["r1", edits]]), acknowledged: new Set(committed ? ["r1"] : []) };
        const faults = (
          await checkImage(
            directory,
            history,
            committed
              ? new Map()
              : new Map([
                  ["a", text("old a")],
                  ["b", text("old b")],
                ]),
            { boot: "boot-1", failPoints: noFailPoints },
          )
        ).join("; ");
        const files = [...diskFiles(join(directory, "ws"))].map(([path, file]) => [path, file.bytes.toString()]);
        expect({ name, code, nth, faults }).toEqual({ name, code, nth, faults: "" });
        expect(files).toEqual(
          committed
            ? [
                ["a", "new a"],
                ["d/e/c", "new c"],
              ]
            : [
                ["a", "old a"],
                ["b", "old b"],
              ],
        );
        if (!failed()) break;
      }
    }
  });
});

describe("temps a killed daemon left", () => {
  /** A site with a save in the journal, killed at the point. */
  async function imageAt(point: FailPoint, edits: EditInput[]): Promise<string> {
    const directory = tempDir("temps");
    let image: string | undefined;
    let armed = false;
    const site = await openSite(join(directory, "site"), {
      failPoints: {
        hit(at) {
          if (!armed || at !== point || image !== undefined) return;
          image = join(directory, "image");
          copyImage(join(directory, "site"), image);
        },
      },
    });
    await save(site, "first", [{ path: "other", expect: "absent", content: text("in the journal") }]);
    armed = true;
    await save(site, "second", edits);
    await site.close();
    if (image === undefined) throw new Error(`${point} was never passed`);
    return image;
  }

  it("are not taken for somebody's edit when a save had only staged them", async () => {
    const image = await imageAt("save.staged", [{ path: "never", expect: "absent", content: text("never committed") }]);
    const again = await openSite(image);
    atTeardown(() => again.close());
    expect(again.store.read.checkpoints({ workspace: again.workspace.rowid, limit: 10 }).map((one) => one.cause)).toEqual([
      "save",
    ]);
    expect([kept(again, "never committed"), temps(again), existsSync(join(image, "ws", "never"))]).toEqual([false, [], false]);
  });

  it.each([
    ["exchanged out", (was: string): EditInput => ({ path: "a", expect: was, content: text("ours") })],
    ["taken away", (was: string): EditInput => ({ path: "a", expect: was, delete: true })],
  ])("are recorded under their path when they hold what was %s", async (_how, edit) => {
    const directory = tempDir("displaced");
    const image = join(directory, "image");
    let committed = false;
    const site = await openSite(join(directory, "site"), {
      failPoints: {
        hit(point) {
          if (point === "save.committed") {
            committed = true;
            writeFileSync(join(directory, "site", "ws", "a"), "theirs");
          }
          if (point === "apply.displaced" && committed && !existsSync(image)) copyImage(join(directory, "site"), image);
        },
      },
    });
    const was = aged(site, "a", "old");
    await save(site, "r1", [edit(was)]);
    await site.close();
    const again = await openSite(image);
    atTeardown(() => again.close());
    expect([kept(again, "theirs"), temps(again)]).toEqual([true, []]);
    const log = again.store.read.checkpoints({ workspace: again.workspace.rowid, cause: "external", limit: 10 });
    expect(
      log.map((one) => again.store.read.touched(one.id, 0, 9).paths.map((change) => [change.path, change.after?.sha256])),
    ).toEqual([[["a", hashOf(text("theirs"))]]]);
  });
});

describe("a sync that fails", () => {
  it("stops the workspace, and makes recovery write the file anew: a second sync would prove nothing", async () => {
    const directory = tempDir("sync");
    const failing = {
      ...nodeFs,
      fdatasync: () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO", syscall: "fdatasync" })),
    };
    const site = await openSite(directory, { fs: failing });
    await save(site, "r1", [{ path: "a", expect: "absent", content: text("kept") }]);
    const inode = statSync(join(directory, "ws", "a")).ino;
    await site.workspace.close();
    expect(site.workspace.status().status).toBe("stopped");
    await site.store.close();
    const again = await openSite(directory);
    atTeardown(() => again.close());
    expect(again.recovered.counts).toEqual({ inPlace: 0, rewritten: 1, external: 0 });
    expect(statSync(join(directory, "ws", "a")).ino).not.toBe(inode);
    expect(readFileSync(join(directory, "ws", "a"), "utf8")).toBe("kept");
    expect(again.store.read.openSaves(again.workspace.rowid)).toEqual([]);
  });
});

describe("the checker of crash images", () => {
  it("finds the fault when a save is left half applied, and when an acknowledged one is gone", async () => {
    const directory = tempDir("control");
    const image = join(directory, "image");
    const history = { attempted: new Map<string, EditInput[]>(), acknowledged: new Set<string>() };
    let taken = false;
    const site = await openSite(join(directory, "site"), {
      failPoints: {
        hit(point) {
          if (point !== "apply.between" || taken) return;
          taken = true;
          copyImage(join(directory, "site"), image);
        },
      },
    });
    const edits: EditInput[] = [
      { path: "a", expect: "absent", content: text("1") },
      { path: "b", expect: "absent", content: text("2") },
    ];
    history.attempted.set("r1", edits);
    await save(site, "r1", edits);
    history.acknowledged.add("r1");
    await site.close();
    // A recovery that believes what is not so: the save is marked durable with one of its files missing.
    const broken = await openSite(join(directory, "site"));
    unlinkSync(join(directory, "site", "ws", "b"));
    await broken.close();
    const faults = await checkImage(join(directory, "site"), history, new Map(), { boot: "boot-1", failPoints: noFailPoints });
    expect(faults).toContain("b is not on disk");
    const lost = await checkImage(
      image,
      { ...history, acknowledged: new Set(["r1", "r2"]), attempted: new Map([...history.attempted, ["r2", []]]) },
      new Map(),
      { boot: "boot-1", failPoints: noFailPoints },
    );
    expect(lost).toEqual(["r2 was acknowledged and has no outcome"]);
  });
});
