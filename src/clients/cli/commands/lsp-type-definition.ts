import type { Command } from "../command.ts";
import { LSP_COMMANDS } from "../servers/commands.ts";

/** `gin lsp type-definition`. */
export const command: Command = LSP_COMMANDS["type-definition"];
