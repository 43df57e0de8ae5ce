// The door of edits for the room: what servers would change, as plans of one save each.
import { diagnosticHandlers } from "../diagnostics/index.ts";
import type { Handlers } from "../queries/types.ts";
import { codeActions } from "./actions.ts";
import { format } from "./format.ts";
import { organizeImports } from "./organize.ts";
import { rename } from "./rename.ts";

/** Actions that plan or judge edits. */
export const editHandlers: Handlers = {
  ...diagnosticHandlers,
  rename,
  code_actions: codeActions,
  format,
  organize_imports: organizeImports,
};
