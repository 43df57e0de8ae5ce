import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { createMerger, type MergeResult, type MergerOptions, type Side } from "../../../src/daemon/history/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const opened: { close(): Promise<void> }[] = [];
const make = (options?: MergerOptions) => {
  const merger = createMerger(options);
  opened.push(merger);
  return merger;
};
afterAll(() => Promise.all(opened.map((merger) => merger.close())));

const file = (text: string, executable = false): Side => ({ kind: "file", bytes: Buffer.from(text, "latin1"), executable });
const link = (target: string): Side => ({ kind: "symlink", bytes: Buffer.from(target), executable: false });

/** A result in short: the merged content, "absent", or the kind of conflict. */
function short(result: MergeResult): string {
  if (!result.clean) return `conflict ${result.conflict}`;
  if (result.merged === null) return "absent";
  const { kind, bytes, executable } = result.merged;
  return `${kind} ${Buffer.from(bytes).toString("latin1")}${executable ? " x" : ""}`;
}

describe("merging a path", () => {
  const merger = make();
  const cases: Record<string, readonly [Side | undefined, Side, Side, string]> = {
    "ours alone changed": [file("a"), file("b"), file("a"), "file b"],
    "theirs alone changed": [file("a"), file("a"), file("b"), "file b"],
    "the same change": [file("a"), file("b"), file("b"), "file b"],
    "disjoint lines": [file("1\n2\n3\n"), file("x\n2\n3\n"), file("1\n2\ny\n"), "file x\n2\ny\n"],
    "the same line": [file("1\n"), file("2\n"), file("3\n"), "conflict content"],
    "both deleted": [file("a"), null, null, "absent"],
    "deleted, the other unchanged": [file("a"), null, file("a"), "absent"],
    "deleted against changed": [file("a"), null, file("b"), "conflict delete_modify"],
    "changed against deleted": [file("a"), file("b"), null, "conflict delete_modify"],
    "deleted against mode changed": [file("a"), null, file("a", true), "conflict delete_modify"],
    "both added the same": [null, file("a"), file("a"), "file a"],
    "both added, different": [null, file("a"), file("b"), "conflict content"],
    "added by one": [null, null, file("b"), "file b"],
    "mode by one, content by the other": [file("a"), file("a", true), file("b"), "file b x"],
    "mode cleared by one, content by the other": [file("a", true), file("b", true), file("a"), "file b"],
    "both set the mode, one the content": [file("a"), file("a", true), file("b", true), "file b x"],
    "both added with two modes": [null, file("a"), file("a", true), "conflict mode"],
    "binary, one side unchanged": [file("a\0"), file("a\0"), file("b\0"), "file b\0"],
    "binary on both sides": [file("a\0\nx\ny\n"), file("b\0\nx\ny\n"), file("a\0\nx\nz\n"), "conflict binary"],
    "text became binary": [file("a\nb\nc\n"), file("x\nb\nc\n"), file("a\nb\n\0\n"), "conflict binary"],
    "bytes that are not UTF-8 are text": [
      file("\xff\n2\n3\n"),
      file("\xfe\n2\n3\n"),
      file("\xff\n2\n\xfd\n"),
      "file \xfe\n2\n\xfd\n",
    ],
    "a link moved by one": [link("a"), link("b"), link("a"), "symlink b"],
    "a link moved to two places": [link("a\nx\nb"), link("A\nx\nb"), link("a\nx\nB"), "conflict content"],
    "a file became a link, the other changed it": [file("a"), link("t"), file("b"), "conflict kind"],
    "a link became two files": [link("t"), file("a"), file("b"), "conflict content"],
    "base not kept": [undefined, file("a"), file("b"), "conflict base_unavailable"],
    "base not kept, deleted": [undefined, null, file("b"), "conflict base_unavailable"],
    "base not kept, equal": [undefined, file("a"), file("a"), "file a"],
    "base not kept, equal but for the mode": [undefined, file("a"), file("a", true), "conflict base_unavailable"],
    "base not kept, both absent": [undefined, null, null, "absent"],
  };
  test.each(Object.entries(cases))("%s", async (_name, [base, ours, theirs, expected]) => {
    expect(short(await merger.mergePath(base, ours, theirs))).toBe(expected);
    expect(short(await merger.mergePath(base, theirs, ours))).toBe(expected);
  });

  test("more than 8 MiB or a million lines is too large, unless one side is unchanged", async () => {
    const long = "x\n".repeat(1_000_001);
    const big = "y".repeat(8 * 1024 * 1024);
    expect(short(await merger.mergePath(file(long), file(`a\n${long}`), file(`${long}b\n`)))).toBe("conflict too_large");
    expect(short(await merger.mergePath(file(big), file(`a\n${big}`), file(`${big}b\n`)))).toBe("conflict too_large");
    expect((await merger.mergePath(file(big), file(big), file(`${big}b\n`))).clean).toBe(true);
  });
});

describe("large texts go to a worker", () => {
  const lines = (tag: string) => Array.from({ length: 20_000 }, (_, n) => `${tag}line ${n}\n`);
  const base = lines("");
  const text = (changes: Record<number, string>) => file(base.map((line, n) => changes[n] ?? line).join(""));

  test("from the sources, with the same answers, while the caller's thread stays free", async () => {
    const merger = make();
    const turns: string[] = [];
    const merging = merger.mergePath(text({}), text({ 3: "ours\n" }), text({ 19000: "th\xe9irs\n" })).then((result) => {
      turns.push("merged");
      return result;
    });
    await new Promise<void>((done) => setImmediate(() => done(void turns.push("turn"))));
    expect(short(await merging)).toBe(short({ clean: true, merged: text({ 3: "ours\n", 19000: "th\xe9irs\n" }) }));
    expect(turns).toEqual(["turn", "merged"]);
    expect(await merger.mergePath(text({}), text({ 3: "ours\n" }), text({ 3: "theirs\n" }))).toEqual({
      clean: false,
      conflict: "content",
      hunks: [
        {
          baseStart: 4,
          baseEnd: 4,
          oursStart: 4,
          oursEnd: 4,
          theirsStart: 4,
          theirsEnd: 4,
          base: "line 3\n",
          ours: "ours\n",
          theirs: "theirs\n",
        },
      ],
    });
  });

  test("from a bundle of its own", async () => {
    const { build } = await import("esbuild");
    const outfile = join(tempDir("bundle"), "history-worker.mjs");
    await build({
      entryPoints: ["src/daemon/history/worker.ts"],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
    });
    const merger = make({ worker: pathToFileURL(outfile) });
    expect(short(await merger.mergePath(text({}), text({ 3: "o\n" }), text({ 9: "t\n" })))).toBe(
      short({ clean: true, merged: text({ 3: "o\n", 9: "t\n" }) }),
    );
  });

  /** A worker that never answers, as one stuck in a merge would. */
  const stuck = () => {
    const path = join(tempDir("stuck"), "stuck.mjs");
    writeFileSync(
      path,
      `import { parentPort } from "node:worker_threads";
       parentPort.on("message", () => { for (;;); });
       parentPort.postMessage({ kind: "ready" });`,
    );
    return pathToFileURL(path);
  };

  test("one that does not answer in time is ended: too_large, and the next one runs in a new thread", async () => {
    const merger = make({ worker: stuck(), limitMs: 50 });
    const results = await Promise.all([1, 2].map((n) => merger.mergePath(text({}), text({ [n]: "o\n" }), text({ 9: "t\n" }))));
    expect(results.map(short)).toEqual(["conflict too_large", "conflict too_large"]);
  });

  test("a cancelled merge stops at once, running or waiting or not begun", async () => {
    const merger = make({ worker: stuck(), limitMs: 60_000 });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const merge = (signal: AbortSignal) => merger.mergePath(text({}), text({ 3: "o\n" }), text({ 9: "t\n" }), signal);
    const first = merge(running.signal);
    const second = merge(waiting.signal);
    waiting.abort();
    await expect(second).rejects.toMatchObject({ reason: "CANCELLED" });
    running.abort();
    await expect(first).rejects.toMatchObject({ reason: "CANCELLED" });
    await expect(merge(AbortSignal.abort())).rejects.toMatchObject({ reason: "CANCELLED" });
  });

  test("closing cancels what is open", async () => {
    const merger = make({ worker: stuck(), limitMs: 60_000 });
    const open = expect(merger.mergePath(text({}), text({ 3: "o\n" }), text({ 9: "t\n" }))).rejects.toMatchObject({
      reason: "CANCELLED",
    });
    await merger.close();
    await open;
    await expect(merger.mergePath(text({}), text({ 3: "o\n" }), text({ 9: "t\n" }))).rejects.toMatchObject({
      reason: "CANCELLED",
    });
  });

  test("a worker that cannot start is INTERNAL, not an answer", async () => {
    const merger = make({ worker: pathToFileURL(join(tempDir("none"), "absent.mjs")) });
    await expect(merger.mergePath(text({}), text({ 3: "o\n" }), text({ 9: "t\n" }))).rejects.toMatchObject({
      reason: "INTERNAL",
    });
  });
});
