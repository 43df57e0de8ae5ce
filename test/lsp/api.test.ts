import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers } from "../../src/daemon/language-servers.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { type ApiSite, caller, openApi } from "../unit/api/site.ts";

const FILES = {
  "tsconfig.json":
    '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "allowImportingTsExtensions": true, "noEmit": true}, "include": ["src"]}\n',
  "package.json": '{"devDependencies": {"typescript": "~5.4.0"}}\n',
  "src/cart.ts": "export class Cart {\n  items: number[] = [];\n  total(): number {\n    return this.items.length;\n  }\n}\n",
  "src/page.ts":
    'import { Cart } from "./cart.ts";\nconst cart = new Cart();\nexport const shown = cart.total() + cart.total();\n',
  "src/bad.ts": "export const bad: number = 'text';\n",
  "lib/secret.ts": "export const secret = 1;\n",
};

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The api over the machine's own servers, and a project that is imported. */
async function open(files: { readonly [path: string]: string } = FILES): Promise<ApiSite> {
  const servers = startServers(mergeConfig({}, {}, {}).config, () => [], {
    clock: systemClock,
    random: systemRandom,
    log: silent,
  });
  const site = await openApi({
    lsp: servers,
    engine: { import: true },
    callers: {
      agent: caller("agent", { transport: "tcp", tokenId: "tk_1", scopes: new Set(["read", "lsp", "save"]) }),
      narrow: caller("narrow", { paths: ["src/cart.ts"], scopes: new Set(["read", "lsp", "save"]) }),
      reader: caller("reader", { scopes: new Set(["read"]) }),
    },
  });
  atTeardown(() => servers.close());
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(site.root, path)), { recursive: true });
    writeFileSync(join(site.root, path), text);
  }
  // Refused until the first import has ended.
  await vi.waitFor(() => site.workspace.sync(), { timeout: 30_000, interval: 20 });
  return site;
}

describe("Lsp over the api, with TypeScript's own server", () => {
  let site: ApiSite;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever JSON came back
  const ask = async (message: object, as = "owner"): Promise<any> => {
    const { body, error } = await site.call("Lsp", { timeout_ms: 60_000, ...message }, { as });
    return error === undefined ? body : { refused: error.reason, facts: error.facts, next: error.next_call };
  };
  beforeAll(async () => {
    site = await open();
  });

  it("answers with what it was computed for", async () => {
    const answer = await ask({ action: "definition", path: "src/page.ts", line: 3, character: 27 });
    expect(answer).toMatchObject({
      action: "definition",
      server: "typescript",
      server_state: "ready",
      sha256: sha(FILES["src/page.ts"]),
      generation: String(site.workspace.state().generation),
      partial: false,
      total: 1,
      locations: [
        {
          path: "src/cart.ts",
          span: { start: { line: 3, character: 3 }, end: { line: 3, character: 8 } },
          sha256: sha(FILES["src/cart.ts"]),
          outside: false,
          excerpt: "  total(): number {",
        },
      ],
    });
  });

  it("finds by name path, pages through one answer, and keeps a token's paths apart", async () => {
    const question = { action: "references", path: "src/cart.ts", symbol: "Cart/total" };
    const all = await ask(question);
    const places = all.locations.map(
      (one: { path: string; span: { start: { line: number } } }) => `${one.path}:${one.span.start.line}`,
    );
    expect([all.total, places.sort()]).toEqual([3, ["src/cart.ts:3", "src/page.ts:3", "src/page.ts:3"]]);
    const first = await ask({ ...question, page_size: 2 });
    const second = await ask({ ...question, page_size: 2, cursor: first.next_cursor });
    expect([first.locations.length, second.locations.length, second.next_cursor]).toEqual([2, 1, ""]);
    expect([...first.locations, ...second.locations]).toEqual(all.locations);
    expect(await ask({ ...question, action: "hover", cursor: first.next_cursor })).toMatchObject({ refused: "INVALID_CURSOR" });
    expect(await ask({ ...question, cursor: first.next_cursor }, "agent")).toMatchObject({ refused: "INVALID_CURSOR" });
    const narrow = await ask(question, "narrow");
    expect(narrow.locations.map((one: { path: string }) => one.path)).toEqual(["src/cart.ts"]);
    expect(await ask({ ...question, path: "src/page.ts" }, "narrow")).toMatchObject({ refused: "SCOPE_FORBIDDEN" });
    expect(await ask(question, "reader")).toMatchObject({ refused: "SCOPE_FORBIDDEN" });
  });

  it("says none only of what has none, and refuses what is stale", async () => {
    const answer = await ask({ action: "diagnostics", paths: ["src/bad.ts", "src/page.ts"] });
    expect(
      answer.diagnostics.map((one: { path: string; diagnostics: object[]; reason: string }) => [
        one.path,
        one.diagnostics.length,
        one.reason,
      ]),
    ).toEqual([
      ["src/bad.ts", 1, ""],
      ["src/page.ts", 0, ""],
    ]);
    expect(answer.diagnostics[0].diagnostics[0]).toMatchObject({
      severity: "error",
      code: "2322",
      span: { start: { line: 1, character: 14 } },
    });
    const stale = await ask({ action: "hover", path: "src/bad.ts", line: 1, character: 14, if_hash: "0".repeat(64) });
    expect(stale.refused).toBe("STALE_CONTENT");
  });

  it("refuses what is no question", async () => {
    const cases: [object, string][] = [
      [{ action: "nonsense" }, "action"],
      [{ action: "hover", path: "src/bad.ts" }, "line"],
      [{ action: "hover", path: "src/bad.ts", line: 1 }, "character"],
      [{ action: "hover", path: "src/bad.ts", line: 0, character: 1 }, "line"],
      [{ action: "symbols" }, "path"],
      [{ action: "rename", path: "src/bad.ts", symbol: "bad" }, "new_name"],
      [{ action: "check" }, "trials"],
      [{ action: "view" }, "view"],
      [{ action: "hover", path: "a.ts", line: 1, character: 1, timeout_ms: 300_001 }, "timeout_ms"],
      [{ action: "symbols", path: "a.ts", page_size: 1_001 }, "page_size"],
      [{ action: "symbols", path: "a.ts", if_hash: "beef" }, "if_hash"],
    ];
    for (const [message, field] of cases)
      expect([field, await ask(message)]).toMatchObject([field, { refused: "INVALID_REQUEST", facts: { field } }]);
    expect(await ask({ action: "symbols", path: "src/bad.ts", apply: true, request_id: "x" })).toMatchObject({
      facts: { field: "apply" },
    });
    expect(await ask({ action: "format", path: "src/bad.ts", apply: true })).toMatchObject({ refused: "REQUEST_ID_REQUIRED" });
  });

  it("asks a batch side by side; one that is refused spoils no other", async () => {
    const queries = [
      { action: "hover", path: "src/page.ts", line: 2, character: 7 },
      { action: "symbols", path: "src/gone.ts" },
      { action: "symbols", path: "src/cart.ts" },
      { action: "hover", path: "" },
    ];
    const { body } = await site.call("LspBatch", { queries, timeout_ms: 60_000 });
    expect([body.succeeded, body.failed]).toEqual([2, 2]);
    expect(body.items[0].response.hover).toContain("Cart");
    expect(body.items[1].error.reason).toBe("PATH_NOT_FOUND");
    expect(body.items[2].response.symbols.map((one: { name_path: string; depth: number }) => [one.name_path, one.depth])).toEqual(
      [
        ["Cart", 0],
        ["Cart/items", 1],
        ["Cart/total", 1],
      ],
    );
    expect(body.items[3].error.facts).toMatchObject({ field: "queries[3].path" });
    const saved = await site.call("LspBatch", { queries: [{ action: "format", path: "a.ts", apply: true }] });
    expect(saved.error.facts.field).toBe("queries[0].apply");
  });

  it("shows itself in Context and Capabilities, with what the project asks for", async () => {
    const { body } = await site.call("Context", { sections: ["servers"] });
    expect(body.trusted).toBe(false);
    const typescript = body.servers.find((one: { server: string }) => one.server === "typescript");
    expect(typescript).toMatchObject({
      state: "ready",
      folder: "",
      note: "the project asks for typescript ~5.4.0",
      stderr_tail: "",
    });
    expect(Number(typescript.resident_bytes)).toBeGreaterThanOrEqual(0);
    const features = (await site.call("Capabilities", {})).body.features;
    expect(features.find((one: { name: string }) => one.name === "language_servers")).toMatchObject({ value: "enabled" });
  });

  it("saves a rename as one checkpoint that is replayed and undone, and counts again", async () => {
    const message = { action: "rename", path: "src/cart.ts", symbol: "Cart/total", new_name: "sum", timeout_ms: 60_000 };
    const preview = await ask(message);
    expect([preview.files.map((one: { path: string }) => one.path).sort(), preview.checkpoint]).toEqual([
      ["src/cart.ts", "src/page.ts"],
      "",
    ]);
    expect(await ask({ ...message, apply: true, request_id: "rn-1" }, "agent")).toMatchObject({ refused: "LEASE_REQUIRED" });
    const done = await ask({ ...message, apply: true, request_id: "rn-2" });
    expect(done).toMatchObject({
      no_change: false,
      verified: { references_before: 3, references_after: 3, introduced: [], note: "" },
    });
    expect(readFileSync(join(site.root, "src/page.ts"), "utf8")).toBe(FILES["src/page.ts"].replaceAll("cart.total", "cart.sum"));
    const again = await ask({ ...message, apply: true, request_id: "rn-2" });
    expect([again.replayed, again.checkpoint, again.verified ?? null]).toEqual([true, done.checkpoint, null]);
    const log = (await site.call("ListCheckpoints", { limit: 1 })).body.checkpoints[0];
    expect(log).toMatchObject({ id: done.checkpoint, cause: "CAUSE_TOOL", request_id: "rn-2", path_count: "2" });
    await site.call("Undo", { request_id: "un-1", select: { checkpoint: done.checkpoint } });
    expect(readFileSync(join(site.root, "src/page.ts"), "utf8")).toBe(FILES["src/page.ts"]);
    expect((await ask({ action: "references", path: "src/cart.ts", symbol: "Cart/total" })).total).toBe(3);
  });
});
