import { beforeEach, describe, expect, it } from "vitest";
import { type Annotations, createAnnotations, EXCERPT_BYTES, type WriteInput } from "../../../src/daemon/annotation/index.ts";
import { type Log, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import { mayTouch } from "../../../src/daemon/policy/index.ts";
import { type AnnotationRow, openStore, type RequestRow, type Store } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { quiet } from "../../kernel/workspace/site.ts";
import { caller, fastDir } from "../api/site.ts";
import { Story } from "../history/storyline.ts";
import { request } from "../store/line.ts";

let store: Store;
let story: Story;
let annotations: Annotations;
let warned: string[];
let ids = 0;

beforeEach(async () => {
  store = await openStore({ directory: `${fastDir()}/data`, inline: true });
  atTeardown(() => store.close());
  story = await Story.begin(store);
  warned = [];
  const log: Log = { debug: () => {}, info: () => {}, warn: (_, text) => void warned.push(text), error: () => {} };
  annotations = createAnnotations({ store, lines: story.anchors(), mayTouch, clock: systemClock, random: systemRandom, log });
});

const outcome = (id: string): RequestRow =>
  request(id, { scope: story.workspace, principal: "ann", operation: "WriteAnnotation" });
const write = (checkpoint: string, more: Partial<WriteInput> = {}): Promise<AnnotationRow> =>
  annotations.write({
    workspace: story.workspace,
    caller: caller("ann"),
    requestId: "",
    checkpoint,
    text: "t",
    anchors: [],
    replyTo: "",
    corrects: "",
    evidenceId: "",
    remember: () => outcome(`n${++ids}`),
    ...more,
  });

describe("writing", () => {
  it("tells listeners in order after it is kept, and goes on when one of them fails", async () => {
    const made = await story.tell({ f: "1\n" });
    const heard: string[] = [];
    const stop = annotations.onWrite((row) => {
      heard.push(`${row.seq} ${store.read.annotation(row.id)?.text}`);
      throw new Error("deaf");
    });
    await write(made, { text: "one" });
    await write(made, { text: "two" });
    stop();
    await write(made, { text: "three" });
    expect(heard).toEqual(["1 one", "2 two"]);
    expect(warned).toHaveLength(2);
  });

  it("keeps note and outcome together, or neither", async () => {
    const made = await story.tell({ f: "1\n" });
    const first = await write(made, { remember: () => outcome("same") });
    await expect(write(made, { remember: () => outcome("same") })).rejects.toMatchObject({ reason: "REQUEST_IN_PROGRESS" });
    expect(store.read.annotations({ workspace: story.workspace, limit: 9 }).map((row) => row.id)).toEqual([first.id]);
  });

  it("knows checkpoints and notes of its own workspace only", async () => {
    const other = await Story.begin(store, "ws_2");
    const theirs = await other.tell({ f: "1\n" });
    await expect(write(theirs)).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
    const note = await write(await story.tell({ f: "1\n" }));
    const across = { workspace: other.workspace, replyTo: note.id };
    await expect(write(theirs, across)).rejects.toMatchObject({ reason: "ID_NOT_FOUND", facts: { field: "reply_to" } });
  });

  it("says where lines stand that are no longer told, and where they are for others", async () => {
    const made = await story.tell({ "src/a": "1\n2\n" });
    const row = await write(made, { anchors: [{ path: "src/a", startLine: 2, endLine: 2 }] });
    await story.tell({ "src/a": null, "out/b": "1\n2\n" }, { renames: { "out/b": "src/a" } });
    const mine = await annotations.present(row, caller("ann"), story.generation);
    expect(mine?.anchors[0]?.now).toEqual({ standing: "moved", path: "out/b", startLine: 2, endLine: 2 });
    const bound = caller("src", { paths: ["src"] });
    const theirs = await annotations.present(row, bound, story.generation);
    expect(theirs?.anchors[0]?.now).toEqual({ standing: "unknown", path: "", startLine: 0, endLine: 0 });
    expect(await annotations.present(row, caller("out", { paths: ["out"] }), story.generation)).toBeUndefined();
  });
});

describe("the excerpt of anchored lines", () => {
  it("is the lines themselves, whole ones up to 4 KiB, else a whole number of characters of the first", async () => {
    const dice = chance("excerpt");
    for (let round = 0; round < scaled(60); round += 1) {
      const count = 1 + dice.int(12);
      const long = dice.maybe(0.5) ? 3_000 : 300;
      const lines = Array.from(
        { length: count },
        () => dice.pick(["x", "é", "€", "😀", "a b"]).repeat(dice.int(long)) + dice.pick(["\n", "\r\n"]),
      );
      if (dice.maybe(0.3)) lines[count - 1] = (lines[count - 1] ?? "").replace(/\r?\n$/, "tail");
      const text = lines.join("");
      const startLine = 1 + dice.int(count);
      const endLine = startLine + dice.int(count - startLine + 1);
      const wanted = lines.slice(startLine - 1, endLine);
      const checkpoint = await story.tell({ f: Buffer.from(text).toString("latin1") });
      const { anchors } = await write(checkpoint, { anchors: [{ path: "f", startLine, endLine }] });
      const kept = anchors[0]?.text ?? "";
      const label = `round ${round}, seed ${dice.seed}`;
      expect(Buffer.byteLength(kept), label).toBeLessThanOrEqual(EXCERPT_BYTES);
      expect(wanted.join("").startsWith(kept), label).toBe(true);
      const whole = wanted.join("");
      if (Buffer.byteLength(whole) <= EXCERPT_BYTES) expect(kept, label).toBe(whole);
      else if (Buffer.byteLength(wanted[0] ?? "") <= EXCERPT_BYTES) expect(kept.endsWith("\n"), label).toBe(true);
      else expect(Buffer.byteLength(kept), label).toBeGreaterThan(EXCERPT_BYTES - 4);
    }
  });
});

describe("lists", () => {
  it("fill pages over notes a caller may not see", async () => {
    const made = await story.tell({ "src/a": "1\n", b: "1\n" });
    for (let number = 0; number < 450; number += 1) {
      await write(made, { text: `${number}`, anchors: [{ path: number % 150 === 0 ? "src/a" : "b", startLine: 0, endLine: 0 }] });
    }
    const query = {
      workspace: story.workspace,
      caller: caller("s", { paths: ["src"] }),
      generation: story.generation,
      maxBytes: 1000,
    };
    const first = await annotations.list({ ...query, limit: 2 });
    expect(first.annotations.map(({ row }) => row.text)).toEqual(["300", "150"]);
    const next = await annotations.list({ ...query, limit: 2, ...(first.next === undefined ? {} : { after: first.next }) });
    expect([next.annotations.map(({ row }) => row.text), next.next]).toEqual([["0"], undefined]);
  });

  it("end a page when it is long enough, after one note at least", async () => {
    const made = await story.tell({ f: "1\n" });
    for (const size of [300, 2_000, 600, 500]) await write(made, { text: "x".repeat(size) });
    const query = { workspace: story.workspace, caller: caller("ann"), generation: story.generation, limit: 9, maxBytes: 1_000 };
    const sizes: number[][] = [];
    for (let after: number | undefined; ; ) {
      const page = await annotations.list({ ...query, ...(after === undefined ? {} : { after }) });
      sizes.push(page.annotations.map(({ row }) => row.text.length));
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(sizes).toEqual([[500, 600], [2_000], [300]]);
  });

  it("count what a note's anchors take of a page, their paths included", async () => {
    const paths = Array.from({ length: 10 }, (_, index) => `${"p".repeat(200)}${index}`);
    const made = await story.tell(Object.fromEntries(paths.map((path) => [path, ""])));
    const anchors = paths.map((path) => ({ path, startLine: 0, endLine: 0 }));
    for (let number = 0; number < 5; number += 1) await write(made, { text: `${number}`, anchors });
    const query = { workspace: story.workspace, caller: caller("ann"), generation: story.generation, limit: 9 };
    const of = (page: Awaited<ReturnType<Annotations["list"]>>) => page.annotations.map(({ row }) => row.text);
    // Each takes more than its ten paths, where they were and where they are now.
    expect(of(await annotations.list({ ...query, maxBytes: 4_000 }))).toEqual(["4"]);
    expect(of(await annotations.list({ ...query, maxBytes: 10_000 }))).toEqual(["4", "3"]);
    // A note without anchors is not for nothing either.
    const bare = await story.tell({ f: "" });
    for (let number = 0; number < 9; number += 1) await write(bare, { text: "" });
    const page = await annotations.list({ ...query, checkpoint: bare, maxBytes: 1_000 });
    expect([page.annotations.length, page.next !== undefined]).toEqual([5, true]);
  });

  it("give way to others between notes, and stop when their caller does", async () => {
    let now = 0;
    // Every look at it is a slice later.
    const clock = { ...systemClock, monotonicMs: () => (now += 100) };
    const slow = createAnnotations({ store, lines: story.anchors(), mayTouch, clock, random: systemRandom, log: quiet });
    const made = await story.tell({ b: "1\n" });
    for (let number = 0; number < 30; number += 1) await write(made, { anchors: [{ path: "b", startLine: 0, endLine: 0 }] });
    // Notes that it may not see are passed over, and cost as much.
    const bound = caller("s", { paths: ["src"] });
    const query = { workspace: story.workspace, caller: bound, generation: story.generation, limit: 100, maxBytes: 1_000 };
    let turns = 0;
    let done = false;
    const turn = (): void => {
      turns += 1;
      if (!done) setImmediate(turn);
    };
    setImmediate(turn);
    expect((await slow.list(query)).annotations).toEqual([]);
    done = true;
    expect(turns).toBeGreaterThanOrEqual(30);
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    await expect(slow.list({ ...query, signal: stop.signal })).rejects.toMatchObject({ reason: "CANCELLED" });
  });

  it("have the notes of every file that came to lie below a path, however many were renamed at once", async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `${index}.txt`);
    const made = await story.tell(Object.fromEntries(names.map((name) => [`old/${name}`, ""])));
    const noted = ["0.txt", "9.txt", "999.txt", "1000.txt", "1500.txt", "1999.txt"];
    for (const name of noted) await write(made, { text: name, anchors: [{ path: `old/${name}`, startLine: 0, endLine: 0 }] });
    const gone = names.map((name) => [`old/${name}`, null] as const);
    const there = names.map((name) => [`new/${name}`, ""] as const);
    const renames = Object.fromEntries(names.map((name) => [`new/${name}`, `old/${name}`]));
    await story.tell(Object.fromEntries([...gone, ...there]), { renames });
    const query = { workspace: story.workspace, caller: caller("ann"), generation: story.generation, limit: 100, maxBytes: 1e6 };
    const page = await annotations.list({ ...query, path: "new" });
    expect(page.annotations.map(({ row }) => row.text).reverse()).toEqual(noted);
    expect(page.annotations.map(({ anchors }) => anchors[0]?.now.path).reverse()).toEqual(noted.map((name) => `new/${name}`));
    const rows = store.read.annotations({ workspace: story.workspace, path: "new/1999.txt", limit: 9 });
    expect(rows.map(({ text }) => text)).toEqual(["1999.txt"]);
  });
});
