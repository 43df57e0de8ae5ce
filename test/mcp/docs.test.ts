import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PROFILES } from "../../src/mcp-bridge/index.ts";
import { bridgeOptions } from "../../src/mcp-bridge/options.ts";
import { repo } from "../helpers/repo.ts";

const text = readFileSync(join(repo, "docs/mcp.md"), "utf8");

/** Every server entry in a snippet, however deep the host wants it. */
function entries(value: unknown): { command: string | string[]; args?: string[] }[] {
  if (typeof value !== "object" || value === null) return [];
  if ("command" in value) return [value as { command: string | string[]; args?: string[] }];
  return Object.values(value).flatMap(entries);
}

it("every snippet is JSON, and starts gin mcp with flags that it takes", () => {
  const snippets = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => JSON.parse(match[1] ?? "") as unknown);
  const found = snippets.flatMap(entries);
  expect(found).toHaveLength(8);
  for (const { command, args = [] } of found) {
    const [program, word, ...argv] = [command, args].flat(2);
    expect([program, word]).toEqual(["gin", "mcp"]);
    expect(() => bridgeOptions({ argv, env: {}, cwd: repo })).not.toThrow();
  }
});

it("every tool and each of its arguments is told", () => {
  const { agent, route, "read-only": readOnly } = PROFILES;
  for (const tool of [...agent.tools, ...route.tools, ...readOnly.tools]) {
    const row = text.split("\n").find((line) => line.startsWith(`| \`${tool.name}\` |`));
    for (const name of Object.keys(tool.inputSchema.properties)) {
      if (name !== "request_id") expect(row, tool.name).toContain(`\`${name}\``);
    }
  }
});
