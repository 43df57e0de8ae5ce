import type { Handlers } from "../queries/types.ts";

/** Actions that plan or judge edits. */
export const editHandlers: Handlers = {};
