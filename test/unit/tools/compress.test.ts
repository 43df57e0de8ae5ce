import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collapseRepeats, expandRepeats } from "../../../src/daemon/tools/compress/repeats.ts";
import { compressed } from "../../../src/daemon/tools/index.ts";
import { openTools } from "./site.ts";

describe("output compression is lossless by default", () => {
  it("three equal lines and more are one and a count, two stay", () => {
    const line = "a line that is long enough to be worth it";
    expect(collapseRepeats(`${line}\n${line}\n`)).toBe(undefined);
    expect(collapseRepeats(`${line}\n${line}\n${line}\n`)).toBe(`${line}\n[the line above 2 more times]\n`);
    expect(collapseRepeats(`x\n${`${line}\n`.repeat(1_000)}y`)).toBe(`x\n${line}\n[the line above 999 more times]\ny`);
  });

  it("what was collapsed can be expanded back exactly, whatever the text is", () => {
    const seed = Date.now();
    console.info(`compress: seed ${seed}`);
    const line = fc.oneof(
      fc.constantFrom("", "\r", "ok", "FAIL", "[the line above 2 more times]", "[the line above 02 more times]", "x".repeat(60)),
      fc.string({ unit: "binary", maxLength: 40 }),
    );
    const runs = fc.array(fc.tuple(line, fc.integer({ min: 1, max: 40 })), { maxLength: 12 });
    fc.assert(
      fc.property(runs, fc.boolean(), (list, open) => {
        const text = list.map(([one, times]) => `${one}\n`.repeat(times)).join("") + (open ? "end" : "");
        const collapsed = collapseRepeats(text);
        if (collapsed === undefined) return;
        expect(collapsed.length).toBeLessThan(text.length);
        expect(expandRepeats(collapsed)).toBe(text);
        for (const one of new Set(text.split("\n"))) expect(collapsed.split("\n")).toContain(one);
      }),
      { seed, numRuns: 2_000 },
    );
  });

  it.each([
    [
      "a build that failed",
      "# example.com/x\n./x.go:3:1: syntax error\nFAIL\texample.com/x [build failed]\nok\texample.com/y\t0.1s\nFAIL\n",
    ],
    [
      "a test that timed out",
      "=== RUN   TestA\n--- PASS: TestA\npanic: test timed out after 1s\nFAIL\texample.com/x\t1.0s\nFAIL\n",
    ],
    ["headings of a document", "# one\n\n# two\n\n\n# three\n# four\n# five\n"],
    ["pins of commits", `${"0123456789abcdef0123456789abcdef01234567"}\n${"fedcba9876543210fedcba9876543210fedcba98"}\n`],
    ["paths with one directory", "/src/a/x.ts\n/src/a/y.ts\n/src/a/z.ts\n"],
  ])("%s stays as it is", (_what, text) => {
    expect(compressed({ result: text })).toEqual({
      result: text,
      meta: { compression: { strategies: [], original_len: text.length, final_len: text.length } },
    });
  });

  it("through CallTool it is done when asked for, and said in meta.compression", async () => {
    const line = "the same long line over and over again";
    const site = await openTools({ "a.txt": `${line}\n`.repeat(100) });
    const asked = { path: "a.txt", line_numbers: false, include_checksum: true };
    const plain = await site.ok("read_file", asked);
    const short = await site.ok("read_file", asked, { compress: true });
    expect(short.result).toBe(`${line}\n[the line above 99 more times]\n`);
    expect(short.meta).toEqual({
      sha256: plain.meta.sha256,
      compression: { strategies: ["collapse_repeats"], original_len: plain.result.length, final_len: short.result.length },
    });
    expect(expandRepeats(short.result)).toBe(plain.result);
    expect(plain.meta.compression).toBe(undefined);
  });
});
