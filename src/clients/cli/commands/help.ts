import { UsageError } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { commandHelp, generalHelp } from "../help.ts";
import { COMMANDS } from "../table.ts";

/** Lists the commands, or tells what one takes. */
export const command: Command = {
  usage: "help [COMMAND]",
  words: [0, 2],
  bare: true,
  async run({ out, positionals }) {
    const words = positionals.join(" ");
    if (words === "") return generalHelp(out);
    const row = COMMANDS[words];
    const group = Object.keys(COMMANDS).filter((name) => name.startsWith(`${words} `));
    if (row !== undefined) return commandHelp(out, words, (await row.load()).command);
    if (group.length === 0) throw new UsageError(`there is no command "${words}": gin help lists them`);
    for (const name of group) out.line(`gin ${name}  ${COMMANDS[name]?.summary ?? ""}`);
  },
};
