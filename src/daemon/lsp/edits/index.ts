// The door of edits for the room: what servers would change, as plans of one save each.
import { diagnosticHandlers } from "../diagnostics/index.ts";
import type { Handlers } from "../queries/types.ts";

/** Actions that plan or judge edits. */
export const editHandlers: Handlers = { ...diagnosticHandlers };
