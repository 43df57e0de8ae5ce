import type { Json } from "../../base/index.ts";
import { flagArg } from "../args.ts";
import type { Tool, ToolResult } from "../types.ts";
import { functionSchema } from "./function-schema.ts";

/** list_tools: every tool, what it is good for, and whether it can run here. */
export const listTools: Tool = {
  name: "list_tools",
  description: "Names every tool with its features, and says of those that cannot run here why not.",
  features: ["discovery", "capabilities", "schema"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      include_schema: { type: "boolean", default: false, description: "Give the function schema of the tools that can run, too" },
    },
    additionalProperties: false,
  },
  intents: [
    { points: 9, any: ["tool", "capability", "capabilities"], also: [["list", "which", "what", "available", "show", "can"]] },
  ],
  async run(args, { tools, version }): Promise<ToolResult> {
    const running = tools.filter((tool) => !("missing" in tool));
    const unavailable = tools.flatMap((tool) => ("missing" in tool ? [[tool.name, tool.missing] as const] : []));
    const answer: { [field: string]: Json } = {
      gin_version: version,
      tools: tools.map((tool) => tool.name),
      features: Object.fromEntries(tools.map((tool) => [tool.name, tool.features])),
      unavailable: Object.fromEntries(unavailable),
      ...(flagArg(args, "include_schema") ? { schema: running.map(functionSchema) } : {}),
    };
    return { result: JSON.stringify(answer) };
  },
};
