import { UsageError } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { completionScript, SHELLS } from "../complete.ts";

/** Prints the script that makes a shell complete gin's commands and flags; made from the table of commands. */
export const command: Command = {
  usage: "completion bash|zsh|fish",
  words: [1, 1],
  bare: true,
  help: [
    ["bash", 'eval "$(gin completion bash)"'],
    ["zsh", 'eval "$(gin completion zsh)", after compinit'],
    ["fish", "gin completion fish | source"],
  ],
  async run({ out, positionals }) {
    const shell = SHELLS.find((one) => one === positionals[0]);
    if (shell === undefined) throw new UsageError(`gin completes for ${SHELLS.join(", ")}, not for "${positionals[0] ?? ""}"`);
    out.content(await completionScript(shell));
  },
};
