import { type DescField, type DescMessage, fromJson, type JsonValue as ProtoJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { RequestSchema } from "../../src/gen/gin/v1/call_pb.ts";
import { UndoSelectionSchema } from "../../src/gen/gin/v1/undo_pb.ts";
import { checkArguments } from "../../src/mcp-bridge/catalog/check.ts";
import type { Property, Shape } from "../../src/mcp-bridge/catalog/types.ts";
import { INSTRUCTIONS, TOOLS } from "../../src/mcp-bridge/index.ts";

/** Fields of the contract that no tool takes: the bridge is started for a workspace, and an agent has no use for these. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "gin.v1.Edit": ["object", "link"],
};

const direct = TOOLS.filter((tool) => tool.name !== "gin_call");

function messageOf(operation: string): DescMessage {
  const field = RequestSchema.fields.find((candidate) => candidate.name === operation);
  if (field?.message === undefined) throw new Error(`no operation ${operation}`);
  return field.message;
}

/** Arguments that use every property of a shape. */
function filled(shape: Shape): JsonObject {
  return Object.fromEntries(Object.entries(shape.properties).map(([name, property]) => [name, example(property, name)]));
}

function example(property: Property | Shape, name: string): JsonObject[string] {
  switch (property.type) {
    case "string":
      return property.enum?.[0] ?? (property.counter === true ? "7" : name === "data" ? "AA==" : "x");
    case "boolean":
      return true;
    case "integer":
      return 7;
    case "array":
      return [example(property.items, name)];
    case "object":
      return "properties" in property ? filled(property) : {};
  }
}

function agree(shape: Shape, message: DescMessage): void {
  const out = ["repository", "workspace", ...(LEFT_OUT[message.typeName] ?? [])];
  const fields = message.fields.filter((field) => !out.includes(field.name));
  expect(Object.keys(shape.properties).sort(), message.typeName).toEqual(fields.map((field) => field.name).sort());
  for (const field of fields) {
    const property = shape.properties[field.name];
    const inner = nested(field);
    if (inner !== undefined && property?.type === "array" && property.items.type === "object" && "properties" in property.items) {
      agree(property.items, inner);
    }
  }
}

const nested = (field: DescField): DescMessage | undefined => (field.fieldKind === "list" ? field.message : undefined);

describe("the tools and the contract", () => {
  it.each(direct.map((tool) => [tool.name, tool] as const))("%s takes every field of its request, and no other", (_, tool) => {
    agree(tool.inputSchema, messageOf(tool.shows ?? ""));
  });

  it.each(direct.map((tool) => [tool.name, tool] as const))("%s makes a request the contract takes", (_, tool) => {
    const args = filled(tool.inputSchema);
    const request = tool.request(checkArguments(tool.inputSchema, args));
    expect(fromJson(RequestSchema, request as ProtoJson).operation.case).toBeDefined();
  });

  it("gin_context offers every section the contract names", () => {
    const tool = TOOLS.find(({ name }) => name === "gin_context");
    const property = tool?.inputSchema.properties.sections;
    const names = property?.type === "array" && property.items.type === "string" ? (property.items.enum ?? []) : [];
    expect([...names].sort()).toEqual(["changes", "git", "history", "import", "leases", "root", "servers", "watcher"]);
  });

  it("every request that a description or the instructions show is one of the contract", () => {
    const call = TOOLS.find(({ name }) => name === "gin_call");
    const shown = objectsIn(`${call?.description}\n${INSTRUCTIONS}`);
    const selections = shown.filter((object) => Object.keys(object).every((name) => SELECTION.includes(name)));
    for (const selection of selections)
      expect(() => fromJson(UndoSelectionSchema, selection), JSON.stringify(selection)).not.toThrow();
    expect(selections).toHaveLength(4);
    const requests = shown.filter((object) => !selections.includes(object)).map((object) => object.request ?? object);
    const operations = requests.map((request) => fromJson(RequestSchema, request as ProtoJson).operation.case);
    expect([...new Set(operations)].sort()).toEqual([
      "acquireLease",
      "listCheckpoints",
      "listLeases",
      "redo",
      "releaseLease",
      "requestOutcome",
      "undo",
    ]);
  });
});

const SELECTION = UndoSelectionSchema.fields.map((field) => field.name);

/** The JSON objects of a text, outermost ones. `S` stands for a selection; `{"OPERATION":{fields}}` is none. */
function objectsIn(text: string): JsonObject[] {
  const found: JsonObject[] = [];
  const json = text.replaceAll(":S,", ':{"checkpoint":"ck_1"},').replaceAll('{"OPERATION":{fields}}', "");
  for (let at = json.indexOf('{"'); at >= 0; ) {
    let depth = 0;
    let end = at;
    do {
      if (json[end] === "{") depth += 1;
      if (json[end] === "}") depth -= 1;
      end += 1;
    } while (depth > 0);
    found.push(JSON.parse(json.slice(at, end)) as JsonObject);
    at = json.indexOf('{"', end);
  }
  return found;
}
