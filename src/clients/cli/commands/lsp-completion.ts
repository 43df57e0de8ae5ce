import type { Command } from "../command.ts";
import { LSP_COMMANDS } from "../servers/commands.ts";

/** `gin lsp completion`. */
export const command: Command = LSP_COMMANDS.completion;
