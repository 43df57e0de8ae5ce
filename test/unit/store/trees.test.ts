import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Content, Hash, PathState, Trees } from "../../../src/daemon/store/index.ts";
import { createTrees } from "../../../src/daemon/store/trees/index.ts";
import { scaled } from "../../helpers/scale.ts";
import { file, sha } from "./fixture.ts";

/** fast-check prints the seed of a failure; GIN_TEST_SEED repeats it. */
const seed = process.env.GIN_TEST_SEED === undefined ? {} : { seed: Number(process.env.GIN_TEST_SEED) };

/** Trees over a map of nodes, which `change` fills. */
function fresh(): { trees: Trees; nodes: Map<Hash, Uint8Array>; apply: (root: Hash, changes: Change[]) => Hash } {
  const nodes = new Map<Hash, Uint8Array>();
  const trees = createTrees((hash) => nodes.get(hash));
  const apply = (root: Hash, changes: Change[]) => {
    const changed = trees.change(root, changes);
    for (const { hash, data } of changed.nodes) nodes.set(hash, data);
    return changed.root;
  };
  return { trees, nodes, apply };
}

type Change = { path: string; after: PathState };

/** Byte order of paths. */
function sorted(paths: Iterable<string>): string[] {
  return [...paths].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

function walked(trees: Trees, root: Hash, prefix = ""): [string, Content][] {
  return [...trees.walk(root, prefix)].map(({ path, content }) => [path, content]);
}

function modelOf(model: ReadonlyMap<string, Content>): [string, Content][] {
  return sorted(model.keys()).map((path) => [path, model.get(path) as Content]);
}

/** Entries of a leaf or parts of a split, counted from its bytes alone. */
function itemsOf(data: Uint8Array): number {
  const trees = createTrees((hash) => (hash === "x" ? data : undefined));
  if (data[0] === 1) return trees.list("x", "")?.length ?? 0;
  return (data.length - 1) / 34;
}

describe("trees", () => {
  it("agree with a plain map for random sets, orders and removals; same set, same root", { timeout: scaled(60_000) }, () => {
    const name = fc.oneof(
      fc.constantFrom("a", "b", "a-", "a.", "A", "ä", "\u{1f600}", "\uffee", "z0"),
      fc
        .string({ unit: "grapheme", minLength: 1, maxLength: 6 })
        .filter((text) => !/[/\0]/.test(text) && text !== "." && text !== ".."),
    );
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    const state = fc.oneof(
      { weight: 3, arbitrary: fc.string({ maxLength: 3 }).map((text): PathState => file(text)) },
      { weight: 1, arbitrary: fc.constant<PathState>(file("x", true)) },
      { weight: 1, arbitrary: fc.constant<PathState>({ ...file("target"), kind: "symlink" }) },
      { weight: 2, arbitrary: fc.constant<PathState>(null) },
    );
    const batches = fc.array(fc.array(fc.record({ path, after: state }), { maxLength: 12 }), { maxLength: 8 });
    fc.assert(
      fc.property(batches, fc.infiniteStream(fc.nat()), (steps, order) => {
        const { trees, apply } = fresh();
        const model = new Map<string, Content>();
        let root = trees.empty;
        for (const step of steps) {
          const changes = consistent(model, step);
          root = apply(root, changes);
          for (const { path: at, after } of changes) {
            if (after === null) model.delete(at);
            else model.set(at, after);
          }
        }
        expect(walked(trees, root)).toEqual(modelOf(model));
        for (const at of [...model.keys(), "a", "a/b"]) expect(trees.get(root, at)).toEqual(model.get(at) ?? null);
        checkLists(trees, root, model);
        // Another way to the same set: one by one, in another order, with a detour.
        const other = fresh();
        const shuffled = [...model]
          .map(([at, after]) => ({ at, after, key: order.next().value ?? 0 }))
          .sort((one, two) => one.key - two.key);
        let detour = other.apply(other.trees.empty, [{ path: "detour/deep/file", after: file("d") }]);
        for (const { at, after } of shuffled) detour = other.apply(detour, [{ path: at, after }]);
        expect(other.apply(detour, [{ path: "detour/deep/file", after: null }])).toBe(root);
      }),
      { numRuns: scaled(300), ...seed },
    );
  });

  it("split and rejoin directories at 128 entries, whatever the way there", () => {
    const { trees, nodes, apply } = fresh();
    const roots: Hash[] = [];
    let root = trees.empty;
    for (let count = 1; count <= 400; count++) {
      root = apply(root, [{ path: `f${count}`, after: file(String(count)) }]);
      roots[count] = root;
    }
    const all = Array.from({ length: 400 }, (_, index) => ({ path: `f${index + 1}`, after: file(String(index + 1)) }));
    for (const count of [127, 128, 129, 200, 400]) expect(fresh().apply(trees.empty, all.slice(0, count))).toBe(roots[count]);
    for (let count = 399; count >= 1; count--) {
      root = apply(root, [{ path: `f${count + 1}`, after: null }]);
      expect(root).toBe(roots[count]);
    }
    expect(apply(root, [{ path: "f1", after: null }])).toBe(trees.empty);
    expect(Math.max(...[...nodes.values()].map(itemsOf))).toBe(128);
  });

  it("write a handful of nodes for a save in a folder of 10,000 files, and none for no change", () => {
    const { trees, nodes, apply } = fresh();
    const changes = Array.from({ length: 10_000 }, (_, index) => ({
      path: `src/deep/file-${index}.ts`,
      after: file(String(index)),
    }));
    const root = apply(trees.empty, changes);
    expect(Math.max(...[...nodes.values()].map(itemsOf))).toBeLessThanOrEqual(128);
    for (let index = 0; index < 10_000; index += 501) {
      const { nodes: written } = trees.change(root, [{ path: `src/deep/file-${index}.ts`, after: file("new") }]);
      // The root, src, deep and the way down its split.
      expect(written.length).toBeLessThanOrEqual(2 + 3);
      expect(written.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(10_000);
    }
    const same = trees.change(root, changes.slice(0, 100));
    expect(same).toEqual({ root, nodes: [] });
    expect(trees.list(root, "src/deep")?.map(({ name }) => name)).toEqual(sorted(changes.map(({ path }) => path.slice(9))));
  });

  it("turn a file into a directory and back, and leave no empty directory", () => {
    const { trees, apply } = fresh();
    const flat = apply(trees.empty, [{ path: "a", after: file("1") }]);
    const deep = apply(flat, [
      { path: "a", after: null },
      { path: "a/b/c", after: file("2") },
    ]);
    expect(trees.get(deep, "a")).toBeNull();
    expect(trees.list(deep, "")).toEqual([{ name: "a", content: null }]);
    expect(trees.list(deep, "a/b")).toEqual([{ name: "c", content: file("2") }]);
    expect(trees.list(deep, "a/b/c")).toBeUndefined();
    expect(trees.list(deep, "nowhere")).toBeUndefined();
    expect(walked(trees, deep, "a")).toEqual([["a/b/c", file("2")]]);
    expect(walked(trees, deep, "a/b/c")).toEqual([["a/b/c", file("2")]]);
    expect(walked(trees, deep, "a/x")).toEqual([]);
    const back = apply(deep, [
      { path: "a/b/c", after: null },
      { path: "a", after: file("1") },
    ]);
    expect(back).toBe(flat);
    expect(apply(deep, [{ path: "a", after: null }])).toBe(deep);
    expect(apply(deep, [{ path: "a/b/c", after: null }])).toBe(trees.empty);
    expect(() => trees.change(flat, [{ path: "a/b", after: file("2") }])).toThrow(
      expect.objectContaining({ reason: "INTERNAL" }),
    );
  });

  it("go 1,000 directories deep", () => {
    const { trees, apply } = fresh();
    const path = `${"d/".repeat(1000)}file`;
    const root = apply(trees.empty, [{ path, after: file("deep") }]);
    expect(trees.get(root, path)).toEqual(file("deep"));
    expect(walked(trees, root)).toEqual([[path, file("deep")]]);
    expect(apply(root, [{ path, after: null }])).toBe(trees.empty);
  });

  it("read nodes of trees that are not stored yet, and say when one is missing", () => {
    const { trees } = fresh();
    const first = trees.change(trees.empty, [{ path: "a/b", after: file("1") }]);
    const pending = new Map(first.nodes.map(({ hash, data }) => [hash, data]));
    const elsewhere = createTrees(() => undefined);
    const second = elsewhere.change(first.root, [{ path: "a/c", after: file("2") }], pending);
    expect(second.nodes.map(({ hash }) => hash)).not.toContain(first.root);
    const both = fresh();
    expect(
      both.apply(both.trees.empty, [
        { path: "a/b", after: file("1") },
        { path: "a/c", after: file("2") },
      ]),
    ).toBe(second.root);
    expect(() => createTrees(() => undefined).get(sha("nothing"), "a")).toThrow(
      expect.objectContaining({ reason: "STORE_CORRUPT" }),
    );
    for (const [hash, data] of pending) {
      const cut = createTrees((asked) => (asked === hash ? data.subarray(0, data.length - 1) : pending.get(asked)));
      expect(() => [...cut.walk(first.root, "")]).toThrow(expect.objectContaining({ reason: "STORE_CORRUPT" }));
    }
  });
});

/** Of random changes, those that leave no path both a file and a directory; the last word on a path counts. */
function consistent(model: ReadonlyMap<string, Content>, step: readonly Change[]): Change[] {
  const after = new Map(model);
  const kept = new Map<string, Change>();
  for (const change of step) {
    if (change.after !== null) {
      const clash = [...after.keys()].some((path) => path.startsWith(`${change.path}/`) || change.path.startsWith(`${path}/`));
      if (clash) continue;
      after.set(change.path, change.after);
    } else after.delete(change.path);
    kept.set(change.path, change);
  }
  return [...kept.values()];
}

function checkLists(trees: Trees, root: Hash, model: ReadonlyMap<string, Content>): void {
  const directories = new Map<string, Map<string, Content | null>>([["", new Map()]]);
  for (const [path, content] of model) {
    const names = path.split("/");
    for (const [index, name] of names.entries()) {
      const directory = names.slice(0, index).join("/");
      const entries = directories.get(directory) ?? new Map<string, Content | null>();
      entries.set(name, index === names.length - 1 ? content : null);
      directories.set(directory, entries);
    }
  }
  for (const [directory, entries] of directories) {
    expect(trees.list(root, directory)).toEqual(sorted(entries.keys()).map((name) => ({ name, content: entries.get(name) })));
  }
}
