import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TOOLS } from "../../src/daemon/tools/index.ts";
import { repo } from "../helpers/repo.ts";
import { loadCases } from "./corpus.ts";

const cases = loadCases().flatMap(([, some]) => some);

/** Ids of the rows of docs/differences.md. */
const rows = readFileSync(join(repo, "docs", "differences.md"), "utf8")
  .split("\n")
  .flatMap((line) => /^\| `([a-z0-9-]+)` \|/.exec(line)?.[1] ?? []);

describe("the corpus", () => {
  it("has at least 400 cases, each with a name of its own", () => {
    expect(cases.length).toBeGreaterThanOrEqual(400);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  it("covers every tool that runs, each done and refused", () => {
    const running = TOOLS.filter((tool) => !("missing" in tool)).map(({ name }) => name);
    expect(loadCases().map(([tool]) => tool)).toEqual([...running].sort());
    for (const [tool, some] of loadCases()) {
      expect(some.every((one) => one.tool === tool)).toBe(true);
      expect(
        some.some(({ expect: { ok } }) => ok === true),
        `${tool} is never done`,
      ).toBe(true);
      expect(
        some.some(({ expect: { ok } }) => ok === false),
        `${tool} is never refused`,
      ).toBe(true);
    }
  });

  it("has every code that a tool gives for what the caller sent or what is there", () => {
    const codes = new Set(cases.map(({ expect: { error_code: code } }) => code));
    for (const code of [
      "binary_file",
      "edit_no_change",
      "edit_not_found",
      "edit_not_unique",
      "edit_overlap",
      "file_not_found",
      "file_too_large",
      "id_not_found",
      "invalid_args",
      "invalid_regex",
      "old_text_empty",
      "patch_invalid",
      "path_outside_sandbox",
      "request_id_reused",
      "resource_limit",
      "stale_file",
    ]) {
      expect(codes, code).toContain(code);
    }
  });

  it("no refusal is without code, words and what to do, and none names a place on the machine", () => {
    for (const { name, expect: envelope } of cases) {
      if (envelope.ok === true) continue;
      expect(
        [envelope.error_code, envelope.error, envelope.suggestion].every((text) => typeof text === "string" && text !== ""),
        name,
      ).toBe(true);
      expect(JSON.stringify(envelope), name).not.toContain("<root>");
    }
  });

  it("each difference is a row of docs/differences.md, and each row has a case that shows it", () => {
    const named = new Set(cases.flatMap(({ differs = {} }) => Object.values(differs)));
    expect([...named].sort()).toEqual([...rows].sort());
    expect(new Set(rows).size).toBe(rows.length);
  });
});
