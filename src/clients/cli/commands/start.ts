import type { Command } from "../command.ts";
import { text } from "../output.ts";
import { showLine } from "../terminal.ts";

/** Finds the host's daemon or starts it in the background; opens `--root` when one is given. */
export const command: Command = {
  usage: "start [--root DIR]",
  async run(context) {
    const session = context.session();
    await session.admin("Status");
    await session.address();
    const answer = await session.admin("Status");
    if (context.json) context.out.json(answer);
    else
      context.out.line(
        `gin ${showLine(text(answer, "version"))} serves (pid ${text(answer, "pid")}, ${text(answer, "mode").replace("_", " ")})`,
      );
  },
};
