import { GinError } from "../base/index.ts";
import { TOOLS } from "./table.ts";
import type { AnyTool, JsonMap, Tool, ToolResult, WriteContext } from "./types.ts";
import { checkArgs } from "./validate.ts";

/** A call that may run: its tool, and whether it would change anything. */
export interface AdmittedCall {
  readonly tool: Tool;
  readonly args: JsonMap;
  readonly changes: boolean;
}

/** The entry of a name. Throws INVALID_REQUEST for a name that is none. */
export function toolNamed(name: string): AnyTool {
  const tool = TOOLS.find((one) => one.name === name);
  if (tool !== undefined) return tool;
  throw new GinError("INVALID_REQUEST", "tool: no such tool", "list_tools names them", {
    facts: { field: "tool" },
  });
}

/** Checks a call's name and arguments. Throws INVALID_REQUEST, UNSUPPORTED for a tool that cannot run here. */
export function admit(name: string, args: JsonMap): AdmittedCall {
  const tool = toolNamed(name);
  if ("missing" in tool) {
    throw new GinError("UNSUPPORTED", `${tool.name} is not available here: ${tool.missing}`, "list_tools says what is", {
      facts: { requested: tool.name },
    });
  }
  checkArgs(tool.schema, args);
  return { tool, args, changes: tool.risk === "mutating" && tool.changes(args) };
}

/** Runs an admitted call. */
export function run({ tool, args }: AdmittedCall, context: WriteContext): Promise<ToolResult> {
  if (tool.risk === "mutating") return tool.run(args, context);
  // Narrowed here, so that no read-only tool could save if it tried.
  const { save: _save, unchanged: _unchanged, record: _record, ...reading } = context;
  return tool.run(args, reading);
}
