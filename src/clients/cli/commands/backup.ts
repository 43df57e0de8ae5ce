import { resolve } from "node:path";
import { type Command, flag, given } from "../command.ts";
import { bytes, text } from "../output.ts";
import { showLine } from "../terminal.ts";

/** Copies the store while it is in use, into a directory that does not exist yet. */
export const command: Command = {
  usage: "backup DIR [--request-id ID]",
  words: [1, 1],
  flags: { "request-id": { type: "string" } },
  help: [["DIR", "a directory that does not exist yet, on the daemon's machine"]],
  async run(context) {
    const message = { directory: resolve(context.positionals[0] ?? ""), ...given("request_id", flag(context, "request-id")) };
    // Copying takes as long as the disk needs: bounded only when the caller says so.
    const options = context.options().timeoutMs === undefined ? { timeoutMs: 0 } : {};
    const answer = await context.session().admin("Backup", message, options);
    if (context.json) context.out.json(answer);
    else context.out.line(`${bytes(text(answer, "bytes"))} in ${showLine(text(answer, "directory"))}`);
  },
};
