import { isObject, type JsonObject, type JsonValue, READ_ONLY_TOOLS } from "../../clients/sdk/index.ts";
import { checkArguments } from "./check.ts";
import { type Listed, plain } from "./listed.ts";
import { FENCE, fenceOf, REQUEST_ID } from "./parts.ts";
import { ArgumentError, type Callable, type Shape, type ToolHints } from "./types.ts";

/** The tools of the table in its order, by their own names. A test compares them with the table. */
export const TABLE_TOOLS: readonly string[] = [
  "run_shell",
  "run_plan",
  "read_file",
  "multi_read",
  "write_file",
  "edit_file",
  "multi_edit",
  "apply_patch",
  "search_files",
  "stat_file",
  "list_dir",
  "find_files",
  "list_tools",
  "detect_project",
  "memory",
  "lsp_query",
  "lsp_batch",
  "undo",
  "diff_files",
  "search_replace",
  "web_fetch",
  "web_search",
];

/** Those that need something this host may not have: they are listed only where the daemon says so. */
const PERHAPS: readonly string[] = ["run_shell", "run_plan", "web_fetch", "web_search"];

/** A tool of the table as it is called. Its arguments are the daemon's to judge, as `gin tool` sends them. */
export function tableTool(name: string): Callable | undefined {
  if (!TABLE_TOOLS.includes(name)) return undefined;
  return {
    name,
    inputSchema: undefined,
    request: (args) => {
      // What hosts are told of them stands among the arguments; the daemon takes them beside these.
      const { request_id: id, ...given } = args;
      const fence = isFenced(name) ? checkArguments(FENCE_SHAPE, fenceOf(given)) : {};
      const rest = isFenced(name) ? withoutFence(given) : given;
      if (id !== undefined && typeof id !== "string")
        throw new ArgumentError("request_id must be text", "leave it out: one is made");
      return { call_tool: { tool: name, arguments: rest, ...(id !== undefined && { request_id: id }), ...fence } };
    },
    shows: "call_tool",
    // Who takes this profile knows these tools and their pages: the same envelopes on every way to them.
    whole: true,
    // The acquire call of a refusal is none: no tool of the table acquires. The fence stands beside the arguments, so it is put back.
    nextCall: (next, made) => {
      const tool = String(next.tool);
      if (!TABLE_TOOLS.includes(tool)) return undefined;
      return isFenced(tool) && isObject(next.arguments) ? { ...next, arguments: { ...next.arguments, ...fenceOf(made) } } : next;
    },
  };
}

const FENCE_SHAPE: Shape = { type: "object", properties: FENCE, additionalProperties: false };

/** Whether a tool may change files, which a lease may be needed for. */
function isFenced(name: string): boolean {
  return name !== "memory" && !READ_ONLY_TOOLS.includes(name);
}

function withoutFence(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !Object.hasOwn(FENCE, name)));
}

/** The tools of a ListToolsResponse with schemas that can run, as `tools/list` shows them. */
export function listedTable(answer: JsonObject): Listed[] {
  const tools = Array.isArray(answer.tools) ? answer.tools.filter(isObject) : [];
  // A newer daemon may have others, which this bridge would not let through.
  return tools.filter(({ name, available }) => available === true && TABLE_TOOLS.includes(String(name))).map(listedTool);
}

/** What is listed while the daemon cannot be asked: the tools can be called all the same, once it can. */
export function listedBlind(why: string): Listed[] {
  return TABLE_TOOLS.filter((name) => !PERHAPS.includes(name)).map((name) => ({
    name,
    title: titleOf(name),
    description: `Arguments are not known yet: ${why}. list_tools {"include_schema":true} tells them once gin answers.`,
    inputSchema: { type: "object", properties: {}, additionalProperties: true },
    annotations: { title: titleOf(name), ...hintsOf(READ_ONLY_TOOLS.includes(name) ? "read_only" : "mutating") },
  }));
}

function listedTool(tool: JsonObject): Listed {
  const name = String(tool.name);
  const risk = String(tool.risk);
  const schema = common(tool.schema);
  const properties = isObject(schema.properties) ? schema.properties : {};
  const changes = risk !== "read_only" && risk !== "network";
  return {
    name,
    title: titleOf(name),
    description: String(tool.description ?? ""),
    inputSchema: {
      ...schema,
      type: "object",
      properties: {
        ...properties,
        ...(changes && { request_id: { ...REQUEST_ID } }),
        ...(changes && isFenced(name) && Object.fromEntries(Object.entries(FENCE).map(([field, one]) => [field, plain(one)]))),
      },
    },
    annotations: { title: titleOf(name), ...hintsOf(risk) },
  };
}

function hintsOf(risk: string): ToolHints {
  const reads = risk === "read_only" || risk === "network";
  return {
    readOnlyHint: reads,
    destructiveHint: !reads,
    idempotentHint: risk === "read_only",
    openWorldHint: risk === "network",
  };
}

/** A schema in the part of JSON Schema that every host takes: of several forms the widest, the list; a map's values as they come. */
function common(schema: JsonValue | undefined): JsonObject {
  if (!isObject(schema)) return {};
  if (Array.isArray(schema.oneOf)) {
    const forms = schema.oneOf.filter(isObject);
    const { oneOf: _forms, ...rest } = schema;
    return { ...common(forms.find((form) => form.type === "array") ?? forms[0]), ...rest };
  }
  const { properties, items, additionalProperties, ...rest } = schema;
  return {
    ...rest,
    ...(isObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, common(one)])),
    }),
    ...(isObject(items) && { items: common(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: additionalProperties !== false }),
  };
}

function titleOf(name: string): string {
  return name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
}
