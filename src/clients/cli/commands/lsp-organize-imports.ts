import type { Command } from "../command.ts";
import { LSP_COMMANDS } from "../servers/commands.ts";

/** `gin lsp organize-imports`. */
export const command: Command = LSP_COMMANDS["organize-imports"];
