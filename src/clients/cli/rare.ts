import type { Command } from "./command.ts";

/**
 * Stands in dist/gin.cjs for each command that is not among the quick ones (scripts/lib/bundles.mjs): the whole command line, a second
 * bundle, runs it from its arguments on. Nothing but a number comes back, so no class of one bundle meets an instanceof of the other.
 */
export const command: Command = {
  usage: "",
  raw: true,
  async run() {
    const { status } = await import("./whole.ts");
    return await status;
  },
};
