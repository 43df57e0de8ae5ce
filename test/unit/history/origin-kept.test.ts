import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { createOrigins, type Differ, type Origins } from "../../../src/daemon/history/index.ts";
import { createCollector, openStore, type Store } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { quiet } from "../../kernel/workspace/site.ts";
import { fastDir } from "../api/site.ts";
import { differ, Story } from "./storyline.ts";
import { randomEdit, randomText } from "./texts.ts";

const DAY = 86_400_000;

async function freshStore(): Promise<Store> {
  const store = await openStore({ directory: `${fastDir()}/data`, inline: true });
  atTeardown(() => store.close());
  return store;
}

/** A file of some lines with one line changed each time; gives its checkpoints. */
async function long(story: Story, checkpoints: number, lines: number): Promise<string[]> {
  const now = Array.from({ length: lines }, (_, line) => `line ${line}`);
  const made: string[] = [];
  for (let step = 0; step < checkpoints; step += 1) {
    now[step % lines] = `step ${step}`;
    made.push(await story.tell({ f: `${now.join("\n")}\n` }));
  }
  return made;
}

/** A reader that tells of each content that is read. */
function watched(store: Store, see: (sha256: string) => unknown): Store["read"] {
  return {
    ...store.read,
    object(sha256) {
      see(sha256);
      return store.read.object(sha256);
    },
  };
}

/** Gives up all contents but the newest, and all but `count` checkpoints' rows. */
async function collect(store: Store, count: number, origins?: Origins): Promise<void> {
  const collector = createCollector({
    store,
    clock: systemClock,
    log: quiet,
    quotaBytes: 1,
    checkpointMs: 365 * 100 * DAY,
    checkpointCount: count,
    readersMs: 0,
    ...(origins === undefined ? {} : { keepOrigin: (...asked: [number, string, number]) => origins.keepSpans(...asked) }),
  });
  await collector.collect({ dryRun: false, targetBytes: 0 });
  await collector.close();
}

describe("origin over gc", () => {
  it("is what it was after contents, and rows of checkpoints, are given up", async () => {
    const dice = chance("origin-gc");
    for (let round = 0; round < 10; round += 1) {
      const store = await freshStore();
      const story = await Story.begin(store);
      let text = randomText(dice, 20, 30);
      await story.tell({ f: text, other: "1\n" }, { principal: "alice" });
      for (let step = 0; step < 20; step += 1) {
        const was = text;
        text = randomEdit(dice, text, 2, 30);
        const made = await story.tell({ f: text }, { principal: dice.pick(["bob", "carol"]) });
        if (dice.maybe(0.3)) {
          await story.tell({ f: was }, { cause: "undo", undoes: [made] });
          text = was;
        }
        if (step === 12) {
          await story.tell({ f: null, g: text }, { renames: { g: "f" } });
          await story.tell({ g: null, f: text }, { renames: { f: "g" } });
        }
      }
      const remembering = story.origins();
      const before = await story.file("f", story.generation, remembering);
      await collect(store, dice.pick([100, 3]), story.origins());
      expect(store.read.workspace(story.workspace)?.keptFrom, `seed ${dice.seed}`).toBeGreaterThan(5);
      const label = `round ${round}, seed ${dice.seed}`;
      expect(await story.file("f", story.generation), label).toEqual(before);
      expect(await story.file("f", story.generation, remembering), label).toEqual(before);
      // And goes on from there.
      const next = await story.tell({ f: `${text.replace(/\n?$/, "\n")}more\n` });
      const { spans } = await story.file("f");
      expect(spans.at(-1)?.origin?.checkpoint).toBe(next);
      expect(spans.filter(({ origin }) => origin === undefined)).toEqual([]);
    }
  });

  it("says unknown where nothing was kept, and still knows what came later", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    await story.tell({ f: "a\nb\n" });
    await story.tell({ f: "a\nb\nc\n" });
    const last = await story.tell({ f: "a\nb\nc\nd\n" });
    await collect(store, 100);
    const keptFrom = store.read.workspace(story.workspace)?.keptFrom ?? 0;
    expect(keptFrom).toBe(3);
    expect(await story.spans("f")).toEqual(["1-4 ?"]);
    const later = await story.tell({ f: "a\nB\nc\nd\n" });
    expect(await story.spans("f")).toEqual(["1-1 ?", `2-2 ${later}`, "3-4 ?"]);
    const undo = await story.tell({ f: "new\na\nb\nc\n" }, { cause: "undo", undoes: [later, last] });
    // What the second of them found is gone, so it cannot be told whether the first line came back.
    expect(await story.spans("f")).toEqual(["1-4 ?"]);
    expect((await story.file("f")).lineCount).toBe(4);
    expect(undo).not.toBe("");
  });
});

describe("anchors over gc", () => {
  it("are unknown where contents in between are given up, and known where nothing changed", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    await story.tell({ f: "a\nb\n", quiet: "1\n2\n" });
    await story.tell({ f: "x\na\nb\n" });
    await story.tell({ f: "x\ny\na\nb\n" });
    const at = (path: string) => ({
      workspace: story.workspace,
      path,
      generation: 1,
      sha256: story.content(path, 1).sha256,
      startLine: 2,
      endLine: 2,
    });
    const [loud, still] = [at("f"), at("quiet")];
    expect(await story.anchors().follow(loud, 3)).toMatchObject({ standing: "moved", startLine: 4 });
    await collect(store, 100);
    expect(await story.anchors().follow(loud, 3)).toEqual({ standing: "unknown", path: "", startLine: 0, endLine: 0 });
    expect(await story.anchors().follow(still, 3)).toEqual({ standing: "same", path: "quiet", startLine: 2, endLine: 2 });
    // A whole file is told by its hash alone.
    const whole = { ...loud, startLine: 0, endLine: 0 };
    expect(await story.anchors().follow(whole, 3)).toEqual({ standing: "changed", path: "f", startLine: 0, endLine: 0 });
  });
});

describe("origin of long histories", () => {
  it("keeps spans on the way, goes on from them, and lets the passing ones go", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    const origins = story.origins();
    const now = Array.from({ length: 40 }, (_, line) => `line ${line}`);
    for (let step = 0; step < 300; step += 1) {
      now[(step * 7) % 40] = `step ${step}`;
      await story.tell({ f: `${now.join("\n")}\n` });
      if (step % 3 === 0) await story.file("f", story.generation, origins);
    }
    const whole = await story.file("f");
    expect(await story.file("f", story.generation, origins)).toEqual(whole);
    const kept: number[] = [];
    for (let until = story.generation; ; ) {
      const row = store.read.span(story.workspace, "f", until);
      if (row === undefined) break;
      kept.push(row.generation);
      until = row.generation - 1;
    }
    // Milestones stay, and one row less than 16 touches old.
    expect(kept.filter((generation) => generation % 128 === 0)).toEqual([256, 128]);
    expect(kept).toHaveLength(3);
    expect(story.generation - (kept[0] ?? 0)).toBeLessThan(32);
    const counted: string[] = [];
    const reading = watched(store, (sha256) => counted.push(sha256));
    const again = createOrigins({ store: { ...store, read: reading }, differ, clock: systemClock, log: quiet });
    expect(await again.file(story.workspace, "f", story.generation, story.content("f"))).toEqual(whole);
    expect(counted.length).toBeLessThan(40);
  });

  it("is worked out in slices that let others run, and ends at once when nobody wants it", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    await long(story, 1_000, 300);
    const origins = story.origins();
    const stop = new AbortController();
    let turns = 0;
    let done = false;
    const count = (): void => {
      turns += 1;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    const content = story.content("f");
    const asked = origins.file(story.workspace, "f", story.generation, content, { signal: stop.signal });
    const other = origins.file(story.workspace, "f", story.generation, content);
    const from = performance.now();
    setTimeout(() => stop.abort(), 1);
    await expect(asked).rejects.toMatchObject({ reason: "CANCELLED" });
    // The promise is 250 ms; a test fails at five times that.
    expect(performance.now() - from).toBeLessThan(1_250);
    // Who did not give up has the answer.
    expect((await other).spans).toHaveLength(300);
    done = true;
    expect(turns).toBeGreaterThan(5);
  });

  it("stops the work itself once the last caller gave up", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    await long(story, 600, 100);
    let read = 0;
    const reading = watched(store, () => {
      read += 1;
    });
    const origins = createOrigins({ store: { ...store, read: reading }, differ, clock: systemClock, log: quiet });
    const stop = new AbortController();
    const asked = origins.file(story.workspace, "f", story.generation, story.content("f"), { signal: stop.signal });
    setTimeout(() => stop.abort(), 1);
    await expect(asked).rejects.toMatchObject({ reason: "CANCELLED" });
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const then = read;
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([read, read < 600]).toEqual([then, true]);
  });

  it("compares large texts in the worker, and does not look into what is too large", async () => {
    const store = await freshStore();
    const story = await Story.begin(store);
    const line = `${"x".repeat(99)}\n`;
    const big = (first: string): string => first + line.repeat(4_000);
    const one = await story.tell({ f: big("a\n") });
    const two = await story.tell({ f: big("b\n") });
    let sent = 0;
    const counting: Pick<Differ, "edits"> = {
      edits(...asked) {
        sent += 1;
        return differ.edits(...asked);
      },
    };
    const origins = createOrigins({ store, differ: counting, clock: systemClock, log: quiet });
    expect(await story.spans("f", story.generation, origins)).toEqual([`1-1 ${two}`, `2-4001 ${one}`]);
    expect(sent).toBe(1);
    const huge = await story.tell({ h: line.repeat(340_000) });
    await story.tell({ h: line.repeat(340_001) });
    // Made at once it is known by whom, changed it is not known which lines.
    expect(await story.spans("h", 3)).toEqual([`0-0 ${huge}`]);
    expect(await story.spans("h")).toEqual(["0-0 ?"]);
  });
});
