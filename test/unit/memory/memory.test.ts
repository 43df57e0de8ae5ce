import { describe, expect, it } from "vitest";
import type { Clock, Log } from "../../../src/daemon/base/index.ts";
import { createMemory, type Memory, type MemorySave } from "../../../src/daemon/memory/index.ts";
import type { MemoryBucket, RequestRow, Store } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { Line, opened, request } from "../store/fixture.ts";

const GLOBAL: MemoryBucket = { scope: "global", scopeId: "" };
const logged: string[] = [];
const log: Log = { debug: () => {}, info: () => {}, warn: (_facts, text) => logged.push(text), error: () => {} };

/** A memory whose wall time stands still but for `at`. */
async function site(
  quota = { bucketBytes: 1_000, totalBytes: 2_000 },
): Promise<{ memory: Memory; store: Store; at: (ms: number) => void }> {
  let wall = 1_000;
  const clock: Clock = {
    wallMs: () => wall,
    monotonicMs: () => performance.now(),
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
  const store = await opened();
  return {
    memory: createMemory({ store, clock, log, quota }),
    store,
    at: (ms) => {
      wall = ms;
    },
  };
}

let requests = 0;
const remember = (): RequestRow => {
  requests += 1;
  return request(`m-${requests}`);
};

function entry(key: string, value: string, over: Partial<MemorySave> = {}): MemorySave {
  const plain = { bucket: GLOBAL, kind: "fact", pin: false, expiresInMs: undefined, principal: "alice", requestId: "r" } as const;
  return { ...plain, key, value, remember, ...over };
}

/** Key of one character, value of the length that makes the entry count so many bytes. */
const sized = (bytes: number) => "x".repeat(bytes - 64 - 1);

describe("the quota", () => {
  it("of a bucket and of all is held to the byte", async () => {
    const { memory, store } = await site();
    await memory.save(entry("a", sized(600)));
    await expect(memory.save(entry("b", sized(401)))).rejects.toMatchObject({
      reason: "QUOTA_EXCEEDED",
      facts: { limit: 1_000 },
    });
    await memory.save(entry("b", sized(400)));
    const other: MemoryBucket = { scope: "task", scopeId: "t" };
    await memory.save(entry("a", sized(1_000), { bucket: other }));
    const third: MemoryBucket = { scope: "agent", scopeId: "t" };
    await expect(memory.save(entry("a", "", { bucket: third }))).rejects.toMatchObject({ facts: { limit: 2_000 } });
    expect([store.read.memoryUse(GLOBAL), store.read.memoryUse(other), store.read.memoryUse(undefined)]).toEqual([
      1_000, 1_000, 2_000,
    ]);
  });

  it("a refused save leaves what stood there, and records no outcome", async () => {
    const { memory, store } = await site();
    await memory.save(entry("a", "old"));
    const row = request("refused");
    await expect(memory.save(entry("a", sized(1_001), { remember: () => row }))).rejects.toMatchObject({
      reason: "QUOTA_EXCEEDED",
    });
    expect(memory.recall(GLOBAL, "a")?.value).toBe("old");
    expect(store.read.memoryUse(GLOBAL)).toBe(64 + 4);
    expect(store.read.request(row.scope, row.principal, row.id)).toBeUndefined();
  });

  it("what expired in another bucket gives way when the host is full", async () => {
    const { memory, at } = await site({ bucketBytes: 1_000, totalBytes: 1_000 });
    await memory.save(entry("a", sized(1_000), { bucket: { scope: "task", scopeId: "t" }, expiresInMs: 10 }));
    await expect(memory.save(entry("b", ""))).rejects.toMatchObject({ reason: "QUOTA_EXCEEDED" });
    at(1_010);
    await memory.save(entry("b", ""));
  });

  it("the counters are the sums of what is there, whatever was done", async () => {
    const { memory, store, at } = await site();
    const random = chance("memory use");
    const buckets: readonly MemoryBucket[] = [GLOBAL, { scope: "task", scopeId: "1" }, { scope: "task", scopeId: "2" }];
    interface Kept {
      readonly scope: MemoryBucket;
      readonly value: string;
      readonly bytes: number;
      readonly until: number;
    }
    const model = new Map<string, Kept>();
    let wall = 1_000;
    at(wall);
    /** What of some entries has not expired. */
    const live = (): [string, Kept][] => [...model].filter(([, { until }]) => until > wall);
    const answers = { kept: 0, refused: 0, seen: 0 };
    for (let round = 0; round < scaled(400); round += 1) {
      const bucket = random.pick(buckets);
      const key = random.pick(["a", "b", "c"]);
      const id = `${bucket.scope} ${bucket.scopeId} ${key}`;
      const what = random.int(10);
      if (what < 6) {
        const value = "v".repeat(random.int(500));
        const bytes = 64 + key.length + value.length;
        const others = live().filter(([other]) => other !== id);
        const sum = (some: typeof others): number => some.reduce((all, [, one]) => all + one.bytes, bytes);
        const fits = sum(others.filter(([, { scope }]) => scope === bucket)) <= 1_000 && sum(others) <= 2_000;
        const save = memory.save(entry(key, value, { bucket, expiresInMs: what === 0 ? 5 : undefined }));
        if (fits) {
          await save;
          model.set(id, { scope: bucket, value, bytes, until: what === 0 ? wall + 5 : Number.POSITIVE_INFINITY });
        } else await expect(save).rejects.toMatchObject({ reason: "QUOTA_EXCEEDED" });
        answers[fits ? "kept" : "refused"] += 1;
      } else if (what < 8) {
        await memory.forget({ bucket, key, principal: "alice", remember });
        model.delete(id);
      } else if (what === 8) {
        await memory.collect({ bucket: random.int(2) === 0 ? undefined : bucket, principal: "alice", remember });
      } else {
        wall += 3;
        at(wall);
      }
      const rows = buckets.map((one) => store.read.memories({ bucket: one, nowMs: 0 }, "", 100));
      const uses = rows.map((list) => list.reduce((sum, row) => sum + row.key.length + row.value.length + 64, 0));
      expect(buckets.map((one) => store.read.memoryUse(one))).toEqual(uses);
      expect(store.read.memoryUse(undefined)).toBe(uses.reduce((sum, one) => sum + one, 0));
      const seen = memory.recall(bucket, key);
      expect(seen?.value).toBe(live().find(([one]) => one === id)?.[1].value);
      if (seen !== undefined) answers.seen += 1;
    }
    for (const [what, count] of Object.entries(answers)) expect(count, what).toBeGreaterThan(0);
  });
});

describe("changes", () => {
  it("are told after they are durable, and kept in order; a listener that fails undoes nothing", async () => {
    const { memory, store, at } = await site();
    let told = 0;
    memory.onChange(() => {
      throw new Error("deaf");
    });
    const stop = memory.onChange(() => {
      told += 1;
    });
    await memory.save(entry("a", "1", { expiresInMs: 5 }));
    expect(memory.recall(GLOBAL, "a")?.value).toBe("1");
    await memory.forget({ bucket: GLOBAL, key: "nothing", principal: "alice", remember });
    at(2_000);
    await memory.collect({ bucket: undefined, principal: "bob", remember });
    await memory.collect({ bucket: undefined, principal: "bob", remember });
    expect(told).toBe(2);
    stop();
    await memory.save(entry("b", "1"));
    await memory.forget({ bucket: GLOBAL, key: "b", principal: "alice", remember });
    expect(told).toBe(2);
    expect(store.read.memoryChanges(0, 10).map(({ seq, change, key, principal }) => [seq, change, key, principal])).toEqual([
      [1, "saved", "a", "alice"],
      [2, "expired", "a", "bob"],
      [3, "saved", "b", "alice"],
      [4, "forgotten", "b", "alice"],
    ]);
    expect(store.read.newestMemoryChange()).toBe(4);
    expect(logged.length).toBeGreaterThan(0);
  });

  it("an entry written anew while gc looks is not deleted, and gc tells what went", async () => {
    const { memory, at } = await site();
    await memory.save(entry("a", "1", { expiresInMs: 5 }));
    await memory.save(entry("b", "1", { expiresInMs: 5 }));
    at(2_000);
    let asked = 0;
    let saving: Promise<void> | undefined;
    const deleted = await memory.collect({
      bucket: undefined,
      principal: "alice",
      remember: () => {
        // Between the look and the deletion somebody saves one of them: it must be seen.
        if (asked === 0) saving = memory.save(entry("a", "new"));
        asked += 1;
        return remember();
      },
    });
    await saving;
    expect([deleted, asked]).toEqual([1, 2]);
    expect(memory.recall(GLOBAL, "a")?.value).toBe("new");
  });
});

describe("a project", () => {
  it("is its repository, and what was noted goes with it", async () => {
    const { memory, store } = await site();
    const line = await Line.make(store);
    const bucket = memory.projectOf(line.rowid);
    const row = store.read.workspace(line.rowid);
    expect(bucket).toEqual({ scope: "project", scopeId: row?.repository });
    for (const name of [row?.repository, row?.repositoryName, row?.root])
      expect(memory.projectNamed(name ?? "?")).toEqual(bucket);
    expect(memory.projectNamed("elsewhere")).toEqual({ scope: "project", scopeId: "elsewhere" });
    await memory.save(entry("a", "1", { bucket }));
    await memory.save(entry("a", "1", { bucket: memory.projectNamed("elsewhere") }));
    await store.write("workspace.remove", { rowid: line.rowid });
    expect(memory.recall(bucket, "a")).toBeUndefined();
    expect(store.read.memoryUse(bucket)).toBe(0);
    expect(store.read.memoryUse(undefined)).toBe(66);
    expect(() => memory.projectOf(line.rowid)).toThrow(expect.objectContaining({ reason: "WORKSPACE_NOT_FOUND" }));
  });
});
