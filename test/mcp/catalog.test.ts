import { describe, expect, it } from "vitest";
import { listed } from "../../src/mcp-bridge/catalog/listed.ts";
import { INSTRUCTIONS, TOOLS } from "../../src/mcp-bridge/index.ts";
import { Lines } from "../../src/mcp-bridge/transport/lines.ts";
import { chance } from "../helpers/random.ts";
import { scaled } from "../helpers/scale.ts";

describe("the tools", () => {
  it("are the core profile, in a fixed order", () => {
    expect(TOOLS.map((tool) => tool.name)).toEqual([
      "gin_capabilities",
      "gin_context",
      "gin_read",
      "gin_diff",
      "gin_origin",
      "gin_explain",
      "gin_details",
      "gin_save",
      "gin_annotate",
      "gin_annotations",
      "gin_call",
    ]);
  });

  it("cost a model little: four characters are about one token", () => {
    const characters = JSON.stringify(TOOLS.map(listed)).length;
    expect(characters / 4).toBeLessThan(3_200);
    expect(TOOLS.length).toBeLessThanOrEqual(25);
    for (const tool of TOOLS) expect(tool.description.length).toBeLessThanOrEqual(1_000);
    expect(INSTRUCTIONS.length).toBeLessThanOrEqual(2_000);
  });

  it.each(TOOLS.map((tool) => [tool.name, listed(tool)] as const))("%s keeps to the schema every host takes", (name, tool) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    expect(Object.keys(tool.annotations).sort()).toEqual([
      "destructiveHint",
      "idempotentHint",
      "openWorldHint",
      "readOnlyHint",
      "title",
    ]);
    expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(tool.inputSchema.properties).toHaveProperty("request_id");
    lint(tool.inputSchema as unknown as Schema, name);
  });

  it("only gin_save, gin_annotate and gin_call may change something", () => {
    const changing = TOOLS.filter((tool) => !tool.annotations.readOnlyHint).map((tool) => tool.name);
    expect(changing).toEqual(["gin_save", "gin_annotate", "gin_call"]);
  });
});

interface Schema {
  readonly type: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

const WORDS = ["type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "minimum"];

function lint(schema: Schema, at: string): void {
  expect(
    Object.keys(schema).filter((word) => !WORDS.includes(word)),
    at,
  ).toEqual([]);
  expect(["object", "string", "boolean", "integer", "array"], at).toContain(schema.type);
  if (schema.type === "array") expect(schema.items, at).toBeDefined();
  if (schema.enum !== undefined)
    expect(
      schema.enum.every((value) => typeof value === "string"),
      at,
    ).toBe(true);
  for (const name of schema.required ?? []) expect(Object.keys(schema.properties ?? {}), at).toContain(name);
  for (const [name, property] of Object.entries(schema.properties ?? {})) lint(property, `${at}.${name}`);
  if (schema.items !== undefined) lint(schema.items, `${at}[]`);
}

describe("lines", () => {
  it("are the same however the bytes arrive", () => {
    const random = chance("mcp lines");
    for (let round = 0; round < scaled(300); round += 1) {
      const max = 1 + random.int(40);
      const text = Array.from({ length: random.int(200) }, () => random.pick(["a", "é", "\n", "\n", "😀"])).join("");
      const bytes = Buffer.from(text);
      const lines = new Lines(max);
      const got: string[] = [];
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random.int(12);
        for (const line of lines.push(bytes.subarray(at, at + size))) got.push(String(line));
        at += size;
      }
      const rest = lines.rest();
      if (rest !== undefined) got.push(rest.toString());
      const expected = text.split("\n").map((line) => (Buffer.byteLength(line) > max ? "oversized" : line));
      if (expected.at(-1) === "") expected.pop();
      expect(got).toEqual(expected);
    }
  });
});
