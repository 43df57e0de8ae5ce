import * as fs from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FailPoint, type Fs, GinError, nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { type ConfinedRoot, openRoot, TEMP_PREFIX } from "../../../src/daemon/workspace/files/index.ts";
import { type Site, site, VARIANTS } from "./variants.ts";

/** An Fs that counts its calls, keeps its descriptors, and fails one call. */
interface Meddled {
  readonly fs: Fs;
  readonly calls: Map<string, number>;
  readonly open: Set<number>;
  /** Fails the n-th call from now on (0 is the next) with an errno; undefined stops that. */
  fail(at: number | undefined, errno?: string): void;
  /** Whether a call was failed. */
  failed(): boolean;
}

function meddled(): Meddled {
  const calls = new Map<string, number>();
  const open = new Set<number>();
  let left: number | undefined;
  let code = "EIO";
  let failed = false;
  const wrapped = new Proxy(nodeFs, {
    get(target, name: keyof Fs) {
      return (...args: unknown[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1);
        // A close that fails has closed all the same.
        if (left !== undefined && name !== "closeSync" && left-- === 0) {
          failed = true;
          throw Object.assign(new Error(`${code}: injected`), { code, syscall: name });
        }
        const result: unknown = Reflect.apply(target[name] as (...all: unknown[]) => unknown, target, args);
        if (name === "openSync") open.add(result as number);
        if (name === "closeSync") open.delete(args[0] as number);
        return result;
      };
    },
  });
  return {
    fs: wrapped,
    calls,
    open,
    fail(at, errno = "EIO") {
      left = at;
      code = errno;
      failed = false;
    },
    failed: () => failed,
  };
}

const temps = (dir: string): string[] => fs.readdirSync(dir).filter((name) => name.startsWith(TEMP_PREFIX));

/** What is done under faults: each must leave the old state or the new, and no descriptor. */
const ACTS: readonly { readonly name: string; act(root: ConfinedRoot): unknown }[] = [
  { name: "read", act: (root) => root.readFile("link/f", 100) },
  { name: "list", act: (root) => root.list("d") },
  { name: "locate", act: (root) => root.locate("link/none/x", true) },
  { name: "open", act: (root) => root.openFile("d/f").close() },
  { name: "stage", act: (root) => root.discard(root.stage("d/f", Buffer.from("new"), 0o644).temp) },
  { name: "stageLink", act: (root) => root.discard(root.stageLink("d/f", "x").temp) },
  { name: "parents", act: (root) => root.removeMade(root.makeParents("d/x/y/z")) },
  { name: "sweep", act: (root) => root.sweep() },
];

describe.each(VARIANTS)("faults ($name)", ({ options }) => {
  function prepared(): { on: Site; port: Meddled } {
    const port = meddled();
    const on = site(options, { fs: port.fs });
    fs.mkdirSync(join(on.dir, "d"));
    fs.writeFileSync(join(on.dir, "d/f"), "old");
    fs.symlinkSync("d", join(on.dir, "link"));
    return { on, port };
  }

  it.each(ACTS)("$name: every call failed in turn closes what it opened and changes nothing", ({ act }) => {
    const { on, port } = prepared();
    const held = port.open.size;
    for (const errno of ["EIO", "ENOSPC", "EMFILE", "EACCES", "ENOENT", "ELOOP"]) {
      for (let n = 0; ; n++) {
        port.fail(n, errno);
        try {
          act(on.root);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(GinError);
          expect((thrown as GinError).reason).not.toBe("INTERNAL");
          if (errno === "ENOSPC") expect((thrown as GinError).reason).toBe("DISK_FULL");
        }
        const reached = port.failed();
        port.fail(undefined);
        expect(port.open.size, `${errno} at call ${n}`).toBe(held);
        expect(fs.readFileSync(join(on.dir, "d/f"), "utf8")).toBe("old");
        on.root.sweep();
        on.root.removeMade(["d/x", "d/x/y"]);
        if (!reached) break;
      }
    }
    expect(fs.readdirSync(join(on.dir, "d"))).toEqual(["f"]);
  });

  it.each(["create", "replace"] as const)("place (%s): neither content is ever lost, and a second try ends it", (how) => {
    const { on, port } = prepared();
    const held = port.open.size;
    for (const errno of ["EIO", "EACCES", "EPERM", "ENOENT"]) {
      for (let n = 0; ; n++) {
        fs.writeFileSync(join(on.dir, "d/f"), "old");
        const staged = on.root.stage("d/f", Buffer.from("new"), 0o644);
        port.fail(n, errno);
        let first: ReturnType<ConfinedRoot["place"]>;
        try {
          first = on.root.place(staged, how);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(GinError);
        }
        const reached = port.failed();
        port.fail(undefined);
        expect(port.open.size).toBe(held);
        const inDir = fs.readdirSync(join(on.dir, "d")).map((name) => fs.readFileSync(join(on.dir, "d", name), "utf8"));
        expect(inDir, `${errno} at call ${n}`).toEqual(expect.arrayContaining(["old", "new"]));
        // Tried again, it ends as if nothing had failed.
        const displaced = first ?? on.root.place(staged, how);
        const old = displaced === undefined ? "nothing" : on.root.readTemp(displaced.temp, 10).bytes.toString();
        expect([fs.readFileSync(join(on.dir, "d/f"), "utf8"), old], `${errno} at call ${n}`).toEqual(["new", "old"]);
        on.root.sweep();
        if (!reached) break;
      }
    }
  });

  it("stage: a failed write or fail point leaves no temp", () => {
    for (const point of ["stage.created", "stage.written"] satisfies FailPoint[]) {
      const on = site(options, {
        failPoints: {
          hit(now) {
            if (now === point) throw new Error("stop here");
          },
        },
      });
      expect(() => on.root.stage("f", Buffer.from("x"), 0o644)).toThrow("stop here");
      expect(fs.readdirSync(on.dir)).toEqual([]);
    }
  });

  it("place: what others put at the target in the moment without a name is displaced too, and nothing is lost", () => {
    let racers = 3;
    const dir: { at: string } = { at: "" };
    const on = site(options, {
      failPoints: {
        hit(point) {
          if (point === "apply.displaced" && racers-- > 0) fs.writeFileSync(join(dir.at, "f"), `racer ${racers}`);
        },
      },
    });
    dir.at = on.dir;
    fs.writeFileSync(join(on.dir, "f"), "old");
    const displaced = on.root.place(on.root.stage("f", Buffer.from("new"), 0o644), "replace");
    if (displaced === undefined) throw new Error("nothing was displaced");
    const all = [displaced, ...(displaced.also ?? [])].map((one) => on.root.readTemp(one.temp, 100).bytes.toString());
    expect(all).toEqual(on.root.features.replace === "exchange" ? ["old"] : ["racer 0", "racer 1", "racer 2", "old"]);
    expect(fs.readFileSync(join(on.dir, "f"), "utf8")).toBe("new");
    on.root.sweep();
    expect(fs.readdirSync(on.dir)).toEqual(["f"]);
  });

  it("where links are refused a new file is an exclusive copy", () => {
    const port: Fs = {
      ...nodeFs,
      linkSync() {
        throw Object.assign(new Error("EPERM: injected"), { code: "EPERM", syscall: "link" });
      },
    };
    const on = site(options, { fs: port });
    const big = Buffer.alloc(3 * 2 ** 20 + 7, "gin");
    expect(on.root.place(on.root.stage("f", big, 0o751), "create")).toBeUndefined();
    const made = on.root.readFile("f", 2 ** 24);
    expect([made.bytes.equals(big), made.stat.mode, made.stat.links]).toEqual([true, 0o751, 1]);
    const displaced = on.root.place(on.root.stageLink("f", "target"), "replace");
    expect(on.root.readLink("f").target).toBe("target");
    expect(displaced && on.root.putBack(displaced, "f")).toBe(false);
    expect(displaced && on.root.putBack(displaced, "g")).toBe(true);
    expect(on.root.readFile("g", 2 ** 24).bytes.equals(big)).toBe(true);
    expect(temps(on.dir)).toEqual([]);
  });
});

describe("the cost of a call", () => {
  it("reads a file at depth two with three opens, two stats, one read", () => {
    const port = meddled();
    const on = site({}, { fs: port.fs });
    fs.mkdirSync(join(on.dir, "d"));
    fs.writeFileSync(join(on.dir, "d/f"), Buffer.alloc(4096));
    port.calls.clear();
    on.root.readFile("d/f", 4096);
    expect(Object.fromEntries(port.calls)).toEqual({ openSync: 3, fstatSync: 2, readSync: 1, closeSync: 3 });
  });

  it("never writes where a random name is taken already", () => {
    const on = site();
    const again = openRoot(
      on.dir,
      { fs: nodeFs, random: { ...systemRandom, bytes: (count) => new Uint8Array(count) }, failPoints: noFailPoints },
      { exchange: "off" },
    );
    const first = again.stage("f", Buffer.from("first"), 0o644);
    expect(() => again.stage("f", Buffer.from("second"), 0o644)).toThrow(GinError);
    expect(again.readTemp(first.temp, 10).bytes.toString()).toBe("first");
    fs.writeFileSync(join(on.dir, "f"), "x");
    const away = again.takeAway("f");
    fs.writeFileSync(join(on.dir, "f"), "y");
    expect(() => again.takeAway("f")).toThrow(GinError);
    expect([first.temp, away?.temp ?? ""].map((temp) => again.readTemp(temp, 10).bytes.toString())).toEqual(["first", "x"]);
    again.close();
  });
});
