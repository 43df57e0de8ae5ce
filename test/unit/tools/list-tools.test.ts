import { describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../../src/daemon/tools/table.ts";
import { openTools } from "./site.ts";

describe("list_tools", () => {
  it("names all 22 with features, and says of those that cannot run why", async () => {
    const site = await openTools();
    const { result } = await site.ok("list_tools", {});
    const { tools, features, unavailable, gin_version, schema } = JSON.parse(result);
    expect(tools).toEqual([...TOOL_NAMES]);
    expect(Object.keys(features)).toEqual(tools);
    expect(gin_version).toBe("9.9.9");
    expect(schema).toBe(undefined);
    for (const name of ["run_shell", "web_fetch", "web_search"]) expect(unavailable[name]).toContain("not part of this version");
    const { body } = await site.api.call("ListTools", {});
    for (const tool of body.tools) expect(tool.why_not).toBe(unavailable[tool.name] ?? "");
  });

  it("gives the lean function schema of those that can run", async () => {
    const site = await openTools();
    const { schema, unavailable } = JSON.parse((await site.ok("list_tools", { include_schema: true })).result);
    const names = schema.map((one: { function: { name: string } }) => one.function.name);
    expect(names).toEqual(TOOL_NAMES.filter((name) => unavailable[name] === undefined));
    const readFile = schema.find((one: { function: { name: string } }) => one.function.name === "read_file");
    expect(readFile.type).toBe("function");
    expect(readFile.function.parameters).toMatchObject({ type: "object", required: ["path"], additionalProperties: false });
    expect(readFile.function.parameters.properties.path).toEqual({ type: "string", minLength: 1 });
    expect(JSON.stringify(schema.map((one: { function: { parameters: object } }) => one.function.parameters))).not.toContain(
      '"description":"',
    );
  });
});
