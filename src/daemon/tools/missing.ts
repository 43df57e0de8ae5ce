import type { MissingTool, ToolSchema } from "./types.ts";

const NOTHING: ToolSchema = { type: "object", properties: {}, additionalProperties: false };

function missing(name: string, description: string, risk: MissingTool["risk"], why: string): MissingTool {
  return { name, description, features: [], schema: NOTHING, risk, missing: why };
}

const NO_SHELL = "the shell is not part of this version";
const NO_WEB = "web tools are not part of this version";
const SOON = "it is not built yet";
const NO_SERVERS = "language servers are not part of this version";

/** Tools that no room stands behind yet: listed, so that nobody has to guess, and refused by name. */
export const missingTools: readonly MissingTool[] = [
  missing("read_file", "", "read_only", SOON),
  missing("multi_read", "", "read_only", SOON),
  missing("write_file", "", "read_only", SOON),
  missing("edit_file", "", "read_only", SOON),
  missing("multi_edit", "", "read_only", SOON),
  missing("apply_patch", "", "read_only", SOON),
  missing("search_files", "", "read_only", SOON),
  missing("list_dir", "", "read_only", SOON),
  missing("find_files", "", "read_only", SOON),
  missing("list_tools", "", "read_only", SOON),
  missing("detect_project", "", "read_only", SOON),
  missing("memory", "", "read_only", SOON),
  missing("undo", "", "read_only", SOON),
  missing("diff_files", "", "read_only", SOON),
  missing("search_replace", "", "read_only", SOON),
  missing("run_shell", "Run a shell command in the workspace.", "shell", NO_SHELL),
  missing("run_plan", "Run a small graph of commands and tools.", "mutating", NO_SHELL),
  missing("lsp_query", "Ask a language server about one place in a file.", "read_only", NO_SERVERS),
  missing("lsp_batch", "Ask language servers several questions at once.", "read_only", NO_SERVERS),
  missing("web_fetch", "Fetch a public web page as Markdown.", "network", NO_WEB),
  missing("web_search", "Search the public web.", "network", NO_WEB),
];
