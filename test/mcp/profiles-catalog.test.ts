import { describe, expect, it } from "vitest";
import { type JsonObject, READ_ONLY_TOOLS } from "../../src/clients/sdk/index.ts";
import { READ_ONLY_ACTIONS } from "../../src/clients/sdk/operations.ts";
import { LSP_ACTIONS } from "../../src/daemon/lsp/index.ts";
import { type ArgSchema, TOOLS as TABLE } from "../../src/daemon/tools/index.ts";
import { listed } from "../../src/mcp-bridge/catalog/listed.ts";
import { listedBlind, listedTable } from "../../src/mcp-bridge/catalog/table.ts";
import type { Tool } from "../../src/mcp-bridge/catalog/types.ts";
import { PROFILES, TABLE_TOOLS } from "../../src/mcp-bridge/index.ts";

const { core, agent, route } = PROFILES;
const readOnly = PROFILES["read-only"];
const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);

describe("the profiles", () => {
  it("have these tools, in this order", () => {
    expect(Object.keys(PROFILES)).toEqual(["core", "agent", "tools", "route", "read-only"]);
    expect(namesOf(agent.tools)).toEqual([
      ...namesOf(core.tools),
      "gin_edit",
      "gin_search",
      "gin_find",
      "gin_lsp",
      "gin_undo",
      "gin_lease",
      "gin_memory",
    ]);
    expect(namesOf(route.tools)).toEqual(["gin_route"]);
    expect(namesOf(readOnly.tools)).toEqual(["gin_route", "gin_tool"]);
    expect(TABLE_TOOLS).toEqual(TABLE.map(({ name }) => name));
  });

  it("cost a model little: agent at most 25 tools and 6,000 tokens, four characters being about one", () => {
    expect(agent.tools.length).toBeLessThanOrEqual(25);
    const tokens = (tools: readonly Tool[]) => JSON.stringify(tools.map(listed)).length / 4;
    expect(tokens(agent.tools)).toBeLessThan(6_000);
    expect(tokens(readOnly.tools)).toBeLessThan(800);
    expect(tokens(route.tools)).toBeLessThan(400);
    for (const tool of [...agent.tools, ...readOnly.tools]) expect(tool.description.length).toBeLessThanOrEqual(1_000);
    for (const { instructions } of Object.values(PROFILES)) expect(instructions.length).toBeLessThanOrEqual(2_000);
  });

  const all = new Map([...agent.tools, ...route.tools, ...readOnly.tools].map((tool) => [tool.name, tool]));
  it.each([...all])("%s keeps to the schema every host takes", (name, tool) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    const { inputSchema, annotations } = listed(tool);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(inputSchema.properties).toHaveProperty("request_id");
    expect(Object.keys(annotations).sort()).toEqual([
      "destructiveHint",
      "idempotentHint",
      "openWorldHint",
      "readOnlyHint",
      "title",
    ]);
    lint(inputSchema, name);
  });

  it("read-only ones say of every tool that it only reads", () => {
    for (const tool of [...route.tools, ...readOnly.tools]) expect(tool.annotations).toMatchObject({ readOnlyHint: true });
    const changing = agent.tools.filter(({ annotations }) => !annotations.readOnlyHint);
    expect(namesOf(changing)).toEqual([
      "gin_save",
      "gin_annotate",
      "gin_call",
      "gin_edit",
      "gin_lsp",
      "gin_undo",
      "gin_lease",
      "gin_memory",
    ]);
  });
});

describe("what agent's tools take", () => {
  /** Arguments of a tool of the table, by each value of `op`. */
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ["gin_edit", "edit_file", ["edit_file", "multi_edit", "apply_patch", "write_file"]],
    ["gin_search", "", ["search_files"]],
    ["gin_find", "find_files", ["find_files", "list_dir"]],
    ["gin_memory", "save", ["memory"]],
  ];
  it.each(cases)("%s: arguments of the tools behind it", (name, first, tools) => {
    const tool = agent.tools.find((one) => one.name === name);
    const { properties } = tool?.inputSchema ?? { properties: {} };
    const behind = TABLE.filter((one) => !("missing" in one)).filter((one) => tools.includes(one.name));
    expect(behind.map((one) => one.name).sort()).toEqual([...tools].sort());
    const known = behind.flatMap((one) => Object.keys(one.schema.properties));
    const own = ["op", "request_id", "lease_incarnation", "lease_epoch"];
    expect(Object.keys(properties).filter((one) => !own.includes(one) && !known.includes(one))).toEqual([]);
    const request = tool?.request({ op: first, path: "a", lease_epoch: "7", request_id: "r" });
    expect(request).toMatchObject({ call_tool: { request_id: "r", lease_epoch: "7" } });
    const needed = behind.flatMap((one) => one.schema.required ?? []);
    for (const one of needed) expect([...Object.keys(properties), "action"]).toContain(one);
  });

  it("gin_search and gin_find ask for pages that a model sees whole, unless the call says", () => {
    const made = (name: string, args: JsonObject) => agent.tools.find((one) => one.name === name)?.request(args);
    expect(made("gin_search", { pattern: "x" })).toMatchObject({ call_tool: { arguments: { pattern: "x", max_matches: 100 } } });
    expect(made("gin_search", { pattern: "x", max_matches: 7 })).toMatchObject({ call_tool: { arguments: { max_matches: 7 } } });
    expect(made("gin_find", { pattern: "*" })).toEqual({
      call_tool: { tool: "find_files", arguments: { pattern: "*", limit: 400 } },
    });
    expect(made("gin_find", { op: "list_dir" })).toEqual({ call_tool: { tool: "list_dir", arguments: {} } });
  });

  it("next_call that is a whole Request is one of gin_lease where that takes its fields, else of gin_call", () => {
    const edit = agent.tools.find(({ name }) => name === "gin_edit");
    const fields = { request_id: "rq_1", paths: ["a"], ttl_ms: "600000" };
    const acquire = { repository: "rp_1", workspace: "ws_1", ...fields };
    expect(edit?.nextCall?.({ acquire_lease: acquire }, {})).toEqual({
      tool: "gin_lease",
      arguments: { op: "acquire", ...fields },
    });
    for (const request of [{ acquire_lease: { ...acquire, from_the_future: 1 } }, { list_leases: {} }]) {
      expect(edit?.nextCall?.(request, {})).toEqual({ tool: "gin_call", arguments: { request } });
    }
  });

  it("gin_lsp's op is an action of Lsp: all but those a model has no use for", () => {
    const op = agent.tools.find(({ name }) => name === "gin_lsp")?.inputSchema.properties.op;
    const ops: readonly string[] = op?.type === "string" ? (op.enum ?? []) : [];
    expect(LSP_ACTIONS.filter((action) => !ops.includes(action)).sort()).toEqual(["completion", "restart", "signature"]);
    expect(ops.filter((one) => !LSP_ACTIONS.some((action) => action === one))).toEqual([]);
  });

  it("gin_memory's op is the tool's action", () => {
    const memory = TABLE.find(({ name }) => name === "memory");
    const op = agent.tools.find(({ name }) => name === "gin_memory")?.inputSchema.properties.op;
    expect(op).toMatchObject({ enum: memory?.schema.properties.action?.enum });
  });
});

describe("profile read-only", () => {
  const [, tool] = readOnly.tools;
  const reading = TABLE.filter(({ risk }) => risk === "read_only").map(({ name }) => name);

  it("offers the read-only tools of the table, and no other", () => {
    expect(READ_ONLY_TOOLS).toEqual(reading);
    expect(tool?.inputSchema.properties.tool).toMatchObject({ enum: reading });
  });

  it("makes no request for another tool, however it is written", () => {
    const tricks = (name: string): unknown[] => [
      name,
      name.toUpperCase(),
      ` ${name}`,
      `${name}\u0000`,
      `read_file\u0000${name}`,
      `read_file,${name}`,
      `read_file/../${name}`,
      [name],
      ["read_file", name],
      { toString: () => name },
      { tool: name },
      null,
    ];
    const changing = TABLE.filter(({ risk }) => risk !== "read_only").map(({ name }) => name);
    expect(changing).toHaveLength(11);
    for (const name of changing) {
      for (const trick of tricks(name)) expect(() => tool?.request({ tool: trick as string }), String(trick)).toThrow();
    }
    for (const name of ["__proto__", "constructor", "toString", "length", "0"])
      expect(() => tool?.request({ tool: name })).toThrow();
  });
});

describe("the SDK", () => {
  it("knows which actions change nothing: those calls need no turn and no request id", () => {
    for (const [name, reading] of Object.entries(READ_ONLY_ACTIONS)) {
      const tool = TABLE.find((one) => one.name === name);
      if (tool === undefined || "missing" in tool || tool.risk !== "mutating") throw new Error(`${name} changes nothing`);
      const actions = tool.schema.properties.action?.enum ?? [];
      expect(actions.filter((action) => !tool.changes({ action })).sort(), name).toEqual([...reading].sort());
    }
  });
});

describe("profile tools of a daemon", () => {
  it("lists what is available and what this bridge knows, in the part of JSON Schema every host takes", () => {
    const schema = {
      type: "object",
      properties: {
        files: { oneOf: [{ type: "string" }, { type: "array", items: { type: "string" } }], description: "Where" },
        sums: { type: "object", properties: {}, additionalProperties: { type: "string" } },
      },
      additionalProperties: false,
    };
    const tool = (name: string, over: JsonObject = {}) => ({
      name,
      description: name,
      risk: "mutating",
      available: true,
      schema,
      ...over,
    });
    const tools = [
      tool("search_replace"),
      tool("run_shell", { available: false }),
      tool("from_the_future"),
      tool("web_search", { risk: "network", schema: {} }),
    ];
    const [replace, web, ...none] = listedTable({ tools });
    expect(none).toEqual([]);
    expect(replace?.inputSchema).toEqual({
      type: "object",
      properties: {
        files: { type: "array", items: { type: "string" }, description: "Where" },
        sums: { type: "object", properties: {}, additionalProperties: true },
        request_id: expect.anything(),
        lease_incarnation: { type: "string", description: expect.any(String) },
        lease_epoch: { type: "string", description: expect.any(String) },
      },
      additionalProperties: false,
    });
    expect(web).toMatchObject({
      name: "web_search",
      inputSchema: { type: "object", properties: {} },
      annotations: { readOnlyHint: true, openWorldHint: true },
    });
    expect(listedTable({})).toEqual([]);
  });
});

describe("profile tools without a daemon", () => {
  it("lists what runs on every host, to be called once it is there", () => {
    const blind = listedBlind("it sleeps");
    const running = TABLE.filter((one) => !("missing" in one)).map(({ name }) => name);
    expect(blind.map(({ name }) => name)).toEqual(expect.arrayContaining(running));
    for (const { name, annotations, description } of blind) {
      expect(annotations.readOnlyHint, name).toBe(TABLE.find((one) => one.name === name)?.risk === "read_only");
      expect(description).toContain("it sleeps");
    }
  });
});

const WORDS = ["type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "minimum"];

function lint(schema: { readonly [word: string]: unknown }, at: string): void {
  expect(
    Object.keys(schema).filter((word) => !WORDS.includes(word)),
    at,
  ).toEqual([]);
  expect(["object", "string", "boolean", "integer", "array"], at).toContain(schema.type);
  const { properties = {}, items } = schema as { properties?: { [name: string]: ArgSchema }; items?: ArgSchema };
  if (schema.type === "array") expect(items, at).toBeDefined();
  for (const [name, property] of Object.entries(properties)) lint({ ...property }, `${at}.${name}`);
  if (items !== undefined) lint({ ...items }, `${at}[]`);
}
