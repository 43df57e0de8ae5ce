import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { runGin } from "../helpers/gin.ts";
import { type Bridge, startBridge } from "./bridge.ts";
import { type Site, startSite } from "./setup.ts";

const PAGE_BYTES = 25_000;
/** Lines that JSON makes twice as long, and one that is longer than several pages. */
const LINES = Array.from({ length: 1_500 }, (_, at) => `${at} "needle" "é😀"\n`);
const LONG = `${LINES.join("")}${'"é😀'.repeat(12_000)}\n${LINES.join("")}`;

let site: Site;
beforeAll(async () => {
  site = await startSite();
  writeFileSync(join(site.root, "long.txt"), LONG);
  mkdirSync(join(site.root, "many"));
  for (let at = 0; at < 400; at += 1) {
    writeFileSync(join(site.root, "many", `${at}-${"n".repeat(100)}.txt`), `${'"needle" '.repeat(20)}\n`);
  }
});

interface Page {
  readonly json: JsonObject;
  readonly next: { readonly tool: string; readonly arguments: JsonObject } | undefined;
}

async function opened(profile: string): Promise<Bridge> {
  const bridge = startBridge(["--host", site.host, "--root", site.root, "--profile", profile]);
  await bridge.initialize();
  return bridge;
}

/** One answer, held to the bound in both of its forms. */
async function page(bridge: Bridge, name: string, args: JsonObject): Promise<Page> {
  const { result } = await bridge.ask("tools/call", { name, arguments: args });
  const json = result?.structuredContent as JsonObject;
  expect(Buffer.byteLength(JSON.stringify(json))).toBeLessThanOrEqual(PAGE_BYTES);
  const texts = (result?.content ?? []).map(({ text }) => text);
  expect(Buffer.byteLength(texts.join(""))).toBeLessThanOrEqual(PAGE_BYTES);
  return { json, next: json.next_call as unknown as Page["next"] };
}

/** Every page from a call on, by its next_call alone. */
async function pages(bridge: Bridge, name: string, args: JsonObject): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  for (let next: Page["next"] = { tool: name, arguments: args }; next !== undefined; ) {
    const one: Page = await page(bridge, next.tool, next.arguments);
    expect(one.json.ok, JSON.stringify(one.json).slice(0, 300)).toBe(true);
    all.push(one.json);
    next = one.next;
    expect(all.length).toBeLessThan(100);
  }
  return all;
}

const reading = (tool: string, args: JsonObject): JsonObject => ({ tool, arguments: args });
const resultsOf = (all: readonly JsonObject[]): string => all.map(({ result }) => String(result)).join("");

describe("a text longer than an answer", () => {
  it("is read to its end by next_call, to the byte", async () => {
    const bridge = await opened("read-only");
    const all = await pages(bridge, "gin_tool", reading("read_file", { path: "long.txt", line_numbers: false }));
    expect(resultsOf(all)).toBe(LONG);
    expect(all[0]).toMatchObject({ meta: { truncation: { truncated: true, hint: expect.any(String) } } });
  });

  it("with numbers is what gin tool prints of each page, in parts; profile tools gives those pages as they are", async () => {
    const bridge = await opened("read-only");
    const whole = await opened("tools");
    const printed: string[] = [];
    for (let args: JsonObject | undefined = { path: "long.txt" }; args !== undefined; ) {
      const given = ["tool", "read_file", "--json", JSON.stringify(args), "--root", site.root];
      const { stdout } = await runGin([...given, "--principal", "mcp-tester"], { host: site.host });
      const envelope = JSON.parse(stdout) as { result: string; next_call?: { arguments: JsonObject } };
      printed.push(envelope.result);
      const { result } = await whole.ask("tools/call", { name: "read_file", arguments: args });
      expect(result?.structuredContent).toMatchObject({ result: envelope.result });
      args = envelope.next_call?.arguments;
    }
    expect(resultsOf(await pages(bridge, "gin_tool", reading("read_file", { path: "long.txt" })))).toBe(printed.join(""));
  });

  it("that changed between its parts is refused, never joined to another", async () => {
    const bridge = await opened("read-only");
    writeFileSync(join(site.root, "moving.txt"), LINES.join(""));
    const { next } = await page(bridge, "gin_tool", reading("read_file", { path: "moving.txt" }));
    writeFileSync(join(site.root, "moving.txt"), `new\n${LINES.join("")}`);
    const { json } = await page(bridge, "gin_tool", next?.arguments ?? {});
    expect(json).toMatchObject({ ok: false, error_code: "stale_file", suggestion: expect.stringContaining("without cursor") });
  });

  it("of memory is recalled whole, in parts", async () => {
    const bridge = await opened("agent");
    const value = '"'.repeat(16_000);
    await page(bridge, "gin_memory", { op: "save", key: "quotes", value });
    const all = await pages(bridge, "gin_memory", { op: "recall", key: "quotes" });
    expect([all.length > 1, resultsOf(all)]).toEqual([true, value]);
  });
});

describe("a list longer than an answer", () => {
  const names = (all: readonly JsonObject[], field: string): string[] =>
    all.flatMap(({ result }) => (JSON.parse(String(result)) as { [field: string]: string[] })[field] ?? []);

  it.each([
    ["read-only", "gin_tool", reading("find_files", { pattern: "many/**", limit: 400 }), "files", 400],
    ["agent", "gin_find", { pattern: "many/**" }, "files", 400],
    ["read-only", "gin_tool", reading("list_dir", { path: "many" }), "entries", 400],
    ["agent", "gin_find", { op: "list_dir", path: "many" }, "entries", 400],
  ] as const)("in profile %s: %s %j has every entry once, in pages", async (profile, name, args, field, count) => {
    const all = await pages(await opened(profile), name, args);
    expect(all.length).toBeGreaterThan(1);
    const found = names(all, field);
    expect([found.length, new Set(found).size]).toEqual([count, count]);
  });

  it.each([
    ["read-only", "gin_tool", reading("search_files", { pattern: "needle", include: "many/*" })],
    ["agent", "gin_search", { pattern: "needle", include: "many/*", max_matches: 300 }],
    ["agent", "gin_search", { pattern: "needle", include: "many/*", context_lines: 3, format: "json" }],
  ] as const)("in profile %s: %s %j has every match once, in pages", async (profile, name, args) => {
    const bridge = await opened(profile);
    const all = await pages(bridge, name, args);
    expect(all.length).toBeGreaterThan(1);
    const found = resultsOf(all).match(/\d+-n{100}\.txt/g) ?? [];
    expect([found.length, new Set(found).size]).toEqual([400, 400]);
  });

  it("of memory has every entry once, in pages", async () => {
    const bridge = await opened("agent");
    for (let at = 0; at < 12; at += 1) {
      await page(bridge, "gin_memory", { op: "save", key: `m${at}`, value: '"'.repeat(3_000), scope: "task", scope_id: "t" });
    }
    const list = { op: "list", include_values: true, scope: "task", scope_id: "t" };
    const found = names(await pages(bridge, "gin_memory", list), "entries") as unknown as { key: string }[];
    expect(new Set(found.map(({ key }) => key)).size).toBe(12);
    expect(found).toHaveLength(12);
  });

  it("of files: multi_read gives those that fit, and the calls for the others; of one that does not, the call that reads it in parts", async () => {
    const bridge = await opened("read-only");
    for (let at = 0; at < 6; at += 1) writeFileSync(join(site.root, `m${at}.txt`), `${at}${"x".repeat(9_000)}\n`);
    const files = [...Array.from({ length: 6 }, (_, at) => ({ path: `m${at}.txt` })), { path: "long.txt" }, { path: "a.txt" }];
    const seen: string[] = [];
    let next: Page["next"] = { tool: "gin_tool", arguments: reading("multi_read", { files }) };
    let last: JsonObject = {};
    while (next?.arguments.tool === "multi_read") {
      const one = await page(bridge, next.tool, next.arguments);
      last = one.json;
      next = one.next;
      if (last.ok === true) seen.push(...Object.keys(JSON.parse(String(last.result)).files));
    }
    expect(seen).toEqual(["m0.txt", "m1.txt", "m2.txt", "m3.txt", "m4.txt", "m5.txt"]);
    expect(last).toMatchObject({ ok: false, error_code: "resource_limit" });
    expect(next).toEqual({ tool: "gin_tool", arguments: reading("read_file", { path: "long.txt" }) });
  });

  it("of files: one that nearly fills an answer is given alone, however many small ones follow", async () => {
    for (let at = 0; at < 6; at += 1) writeFileSync(join(site.root, `n${at}.txt`), `${"x".repeat(at === 0 ? 24_200 : 700)}\n`);
    const files = Array.from({ length: 6 }, (_, at) => ({ path: `n${at}.txt` }));
    const all = await pages(await opened("read-only"), "gin_tool", reading("multi_read", { files }));
    const seen = all.map(({ result }) => Object.keys(JSON.parse(String(result)).files));
    expect(seen).toEqual([["n0.txt"], ["n1.txt", "n2.txt", "n3.txt", "n4.txt", "n5.txt"]]);
  });

  it("of a language server has every item once, in pages by next_cursor", async () => {
    const names = Array.from({ length: 120 }, (_, at) => `a_function_with_a_name_that_says_what_it_is_for_${at}`);
    writeFileSync(
      join(site.root, "many.ts"),
      names.map((name) => `export function ${name}(first: number, second: string): string { return second + first; }\n`).join(""),
    );
    const bridge = await opened("agent");
    const seen: string[] = [];
    let asked = 0;
    for (let cursor: string | undefined = ""; cursor !== undefined; asked += 1) {
      const { texts, json } = await bridge.tool("gin_lsp", { op: "symbols", path: "many.ts", ...(cursor !== "" && { cursor }) });
      expect(Buffer.byteLength(texts.join(""))).toBeLessThanOrEqual(PAGE_BYTES);
      expect(json).not.toHaveProperty("cut");
      const { symbols, next_cursor: next } = json as { symbols: { name: string }[]; next_cursor?: string };
      seen.push(...symbols.map(({ name }) => name));
      cursor = next;
    }
    expect(seen).toEqual(names);
    expect(asked).toBeGreaterThan(2);
  });
});

describe("what has no pages", () => {
  it("is cut and says where: a diff of files, and what an edit shows, which is made all the same", async () => {
    const [a, b] = [LINES.join(""), LINES.join("").replaceAll("needle", "noodle")];
    writeFileSync(join(site.root, "left.txt"), a);
    writeFileSync(join(site.root, "right.txt"), b);
    const diff = await page(
      await opened("read-only"),
      "gin_tool",
      reading("diff_files", { path_a: "left.txt", path_b: "right.txt" }),
    );
    expect(diff.json).toMatchObject({ ok: true, meta: { cut: ["result"], is_identical: false } });
    expect(diff.json.result).toContain("… (cut)");
    const [old, put] = [a, b].map((text) => text.slice(0, 15_000)) as [string, string];
    const edit = { op: "edit_file", path: "left.txt", old_text: old, new_text: put };
    const agent = await opened("agent");
    const shown = await page(agent, "gin_edit", { ...edit, dry_run: true });
    expect(shown.json).toMatchObject({ ok: true, meta: { cut: ["result", "meta.edit.diff"] } });
    expect(readFileSync(join(site.root, "left.txt"), "utf8")).toBe(a);
    const edited = await page(agent, "gin_edit", edit);
    expect(edited.json).toMatchObject({ ok: true, request_id: expect.stringMatching(/^rq_/) });
    expect(readFileSync(join(site.root, "left.txt"), "utf8")).toBe(put + a.slice(15_000));
  });
});
