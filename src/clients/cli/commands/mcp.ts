import { pathToFileURL } from "node:url";
import { programFile } from "../../sdk/index.ts";
import type { Command } from "../command.ts";

/** Speaks MCP on standard input and output: this process becomes the bridge, which reads the flags itself. */
export const command: Command = {
  usage: "mcp [--profile NAME] [session flags]",
  raw: true,
  async run(context) {
    const program = programFile("mcp.mjs");
    process.argv = [process.argv0, program, ...context.positionals];
    await import(pathToFileURL(program).href);
  },
};
