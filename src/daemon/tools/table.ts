import { editFile } from "./edit/edit-file.ts";
import { multiEdit } from "./edit/multi-edit.ts";
import { diffFiles } from "./files/diff-files.ts";
import { multiRead } from "./files/multi-read.ts";
import { readFile } from "./files/read-file.ts";
import { statFile } from "./files/stat-file.ts";
import { listDir } from "./list/list-dir.ts";
import { listTools } from "./list/list-tools.ts";
import { lspBatch } from "./lsp/batch.ts";
import { lspQuery } from "./lsp/query.ts";
import { memory } from "./memory/index.ts";
import { missingTools } from "./missing.ts";
import { applyPatch } from "./patch/apply-patch.ts";
import { detectProject } from "./project/detect-project.ts";
import { searchReplace } from "./replace/search-replace.ts";
import { findFiles } from "./search/find-files.ts";
import { searchFiles } from "./search/search-files.ts";
import type { AnyTool, ToolTable } from "./types.ts";
import { undo } from "./undo/undo.ts";
import { writeFile } from "./write/write-file.ts";

/** Names in catalog order: the order of lists, schemas and docs. */
export const TOOL_NAMES = [
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
] as const;

/** Tools that run here; each is a file of its own. */
const RUNNING: readonly AnyTool[] = [
  readFile,
  multiRead,
  statFile,
  searchFiles,
  findFiles,
  listDir,
  listTools,
  detectProject,
  diffFiles,
  editFile,
  multiEdit,
  writeFile,
  applyPatch,
  undo,
  searchReplace,
  memory,
  lspQuery,
  lspBatch,
];

/** The table from which validation, lists, schema, docs and tests come. */
export const TOOLS: ToolTable = TOOL_NAMES.map((name) => {
  const found = [...RUNNING, ...missingTools].find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`${name} is in no file of the tools room`);
  return found;
});
