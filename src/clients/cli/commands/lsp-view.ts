import type { Command } from "../command.ts";
import { LSP_COMMANDS } from "../servers/commands.ts";

/** `gin lsp view`. */
export const command: Command = LSP_COMMANDS.view;
