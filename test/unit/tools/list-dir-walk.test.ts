import { describe, expect, it } from "vitest";
import { GinError, type Reason } from "../../../src/daemon/base/index.ts";
import type { ReadContext } from "../../../src/daemon/tools/index.ts";
import { walkTree } from "../../../src/daemon/tools/list/tree.ts";
import type { ListedEntry } from "../../../src/daemon/workspace/index.ts";

type Listing = { readonly [path: string]: readonly ListedEntry[] | Reason };

const entry = (name: string, kind: ListedEntry["kind"] = "file"): ListedEntry => ({
  name,
  kind,
  size: 0,
  executable: false,
  sensitive: false,
});

/** A context over directories that exist nowhere: what a real disk cannot be made to do on purpose. */
function over(listing: Listing, more: { readonly signal?: AbortSignal; readonly clock?: () => number } = {}): ReadContext {
  const workspace = {
    async readHead(path: string) {
      const found = listing[path] ?? "PATH_NOT_FOUND";
      if (typeof found === "string") throw new GinError(found, `${path} says ${found}`);
      return { kind: "directory", path, entries: found, state: {} };
    },
  };
  const clock = { monotonicMs: more.clock ?? (() => performance.now()) };
  const context = { workspace, clock, signal: more.signal ?? new AbortController().signal, authorise: () => {} };
  return context as unknown as ReadContext;
}

describe("a walk", () => {
  it.each([
    [99_999, true],
    [100_000, true],
    [100_001, false],
  ])("of %i entries is complete: %s", async (count, complete) => {
    const many = Array.from({ length: count }, (_, at) => entry(`f${at}`));
    const tree = await walkTree(over({ "": many }), "", 3);
    expect([tree.complete, tree.entries.length]).toEqual([complete, Math.min(count, 100_000)]);
  });

  it("goes on past a directory that vanished or cannot be read, and counts those", async () => {
    const tree = await walkTree(
      over({ "": [entry("a", "directory"), entry("b", "directory"), entry("c")], a: "IO_FAILED", b: "PATH_NOT_FOUND" }),
      "",
      3,
    );
    expect(tree).toMatchObject({ complete: true, unreadable: 1 });
    expect(tree.entries.map(({ path }) => path)).toEqual(["a/", "b/", "c"]);
  });

  it("a failure that is not the directory's own ends it", async () => {
    await expect(walkTree(over({ "": [entry("a", "directory")], a: "WORKSPACE_MISSING_ROOT" }), "", 3)).rejects.toMatchObject({
      reason: "WORKSPACE_MISSING_ROOT",
    });
    await expect(walkTree(over({ "": "IO_FAILED" }), "", 3)).rejects.toMatchObject({ reason: "IO_FAILED" });
  });

  it("ends when it is cancelled or takes longer than a minute, and says which", async () => {
    const deep = { "": [entry("a", "directory")], a: [entry("b", "directory")], "a/b": [entry("c")] };
    const stop = new AbortController();
    stop.abort();
    await expect(walkTree(over(deep, { signal: stop.signal }), "", 3)).rejects.toMatchObject({ reason: "CANCELLED" });
    let now = 0;
    await expect(walkTree(over(deep, { clock: () => (now += 25_000) }), "", 3)).rejects.toMatchObject({
      reason: "DEADLINE_EXCEEDED",
    });
  });
});
