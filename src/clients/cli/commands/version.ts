import { VERSION } from "../../../paths/index.ts";
import type { Command } from "../command.ts";

/** Prints gin's version. */
export const command: Command = {
  usage: "version",
  bare: true,
  async run({ out }) {
    out.line(VERSION);
  },
};
