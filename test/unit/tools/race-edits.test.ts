import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { caller } from "../api/site.ts";
import { openTools, type ToolSite } from "./site.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A site with two agents, each a principal of its own. */
function pair(files: { readonly [path: string]: string }): Promise<ToolSite> {
  return openTools(files, { callers: { ada: caller("ada"), bob: caller("bob") } });
}

describe("two agents editing one file at once", () => {
  it("one wins and the other is told or comes after it: nothing is lost", async () => {
    const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    const site = await pair({ a: `${lines.join("\n")}\n` });
    for (let round = 0; round < 20; round += 1) {
      const before = site.text("a");
      const edits = (["ada", "bob"] as const).map((as, index) => {
        const line = index === 0 ? 0 : 19;
        const old_text = before.split("\n")[line] ?? "";
        return { as, old_text, new_text: `${as} ${round}` };
      });
      const answers = await Promise.all(
        edits.map(({ as, ...edit }) => site.call("edit_file", { path: "a", ...edit }, { as, requestId: `${as}-${round}` })),
      );
      expect(answers.some((one) => one.ok)).toBe(true);
      for (const [index, answer] of answers.entries()) {
        const { as, old_text, new_text } = edits[index] as (typeof edits)[number];
        if (answer.ok) continue;
        expect([answer.error_code, answer.facts.paths[0].current_text]).toEqual(["stale_file", site.text("a")]);
        // It was told how to go on.
        await site.ok("edit_file", { path: "a", old_text, new_text }, { as, requestId: `${as}-${round}-again` });
      }
      const after = site.text("a").split("\n");
      expect([after[0], after[19]]).toEqual([`ada ${round}`, `bob ${round}`]);
    }
  });

  it("with on_conflict merge both get in, whoever is first", async () => {
    const site = await pair({ a: `first\n${"between\n".repeat(5)}last\n` });
    const args = { path: "a", on_conflict: "merge", if_checksum: sha(site.text("a")) };
    const answers = await Promise.all([
      site.call("edit_file", { ...args, old_text: "first", new_text: "FIRST" }, { as: "ada" }),
      site.call("edit_file", { ...args, old_text: "last", new_text: "LAST" }, { as: "bob" }),
    ]);
    expect(answers.map((one) => one.ok)).toEqual([true, true]);
    expect(answers.filter((one) => one.meta.merged === true)).toHaveLength(1);
    expect(site.text("a")).toBe(`FIRST\n${"between\n".repeat(5)}LAST\n`);
  });

  it("edits of the same line: one is made, the other finds its text no more, or a conflict", async () => {
    const site = await pair({ a: "the line\n" });
    const answers = await Promise.all(
      ["ada", "bob"].map((as) =>
        site.call("edit_file", { path: "a", old_text: "the line", new_text: as, on_conflict: "merge" }, { as }),
      ),
    );
    const [won] = answers.filter((one) => one.ok);
    const [lost] = answers.filter((one) => !one.ok);
    expect(site.text("a")).toBe(answers[0]?.ok === true ? "ada\n" : "bob\n");
    expect(won?.ok).toBe(true);
    expect(["merge_conflict", "edit_not_found"]).toContain(lost?.error_code);
  });

  it("multi_edit, apply_patch, search_replace and edit_file over one file: every one that says ok is in the file", async () => {
    const words = Array.from({ length: 8 }, (_, n) => `word${n}`);
    const site = await pair({ a: `${words.join("\n\n\n")}\n` });
    const merge = { on_conflict: "merge" };
    const patch = "*** Begin Patch\n*** Update File: a\n@@\n-word2\n+WORD2\n*** End Patch";
    const calls: readonly (readonly [string, object])[] = [
      ["edit_file", { path: "a", old_text: "word0", new_text: "WORD0", ...merge }],
      ["multi_edit", { edits: [{ path: "a", old_text: "word1", new_text: "WORD1" }], ...merge }],
      ["apply_patch", { patch, ...merge }],
      ["search_replace", { pattern: "word3", replacement: "WORD3", files: "a", ...merge }],
    ];
    const answers = await Promise.all(
      calls.map(([tool, args], index) => site.call(tool, args, { as: index % 2 === 0 ? "ada" : "bob" })),
    );
    expect(answers.map((one) => [one.ok, one.error_code])).toEqual(calls.map(() => [true, ""]));
    for (let n = 0; n < 8; n += 1) expect(site.text("a")).toContain(n < 4 ? `WORD${n}` : `word${n}`);
  });

  it("an editor outside that saves in between is not overwritten", async () => {
    const site = await pair({ a: "1\n2\n3\n4\n5\n6\n7\n" });
    const args = { path: "a", old_text: "1", new_text: "one", if_checksum: sha(site.text("a")) };
    await site.ok("edit_file", { ...args, dry_run: true });
    site.put("a", "1\n2\n3\n4\n5\n6\nseven\n");
    expect((await site.call("edit_file", args)).error_code).toBe("stale_file");
    await site.ok("edit_file", { ...args, on_conflict: "merge" });
    expect(site.text("a")).toBe("one\n2\n3\n4\n5\n6\nseven\n");
  });
});
