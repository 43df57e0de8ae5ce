import { locateHost, writeConfig } from "../../../paths/index.ts";
import { UsageError } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { located } from "../located.ts";

/** Changes a setting in the host's file; the daemon reads it at its next start. */
export const command: Command = {
  usage: "config set KEY VALUE, or gin config set KEY --unset",
  words: [1, 2],
  flags: { unset: { type: "boolean" } },
  help: [["--unset", "take the setting out of the file"]],
  async run(context) {
    const [key = "", value] = context.positionals;
    const unset = context.values.unset === true;
    if (unset === (value !== undefined)) throw new UsageError("usage: gin config set KEY VALUE, or gin config set KEY --unset");
    const values = writeConfig(locateHost(located(context), context.env).config, key, value);
    if (context.json) context.out.json(values);
    else context.out.line("set; the daemon reads it at its next start");
  },
};
