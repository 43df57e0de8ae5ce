import { resolve } from "node:path";
import { type Command, flag, given } from "../command.ts";
import { showWorkspace } from "../workspaces.ts";

/** Takes a workspace whose directory was moved to where it is now. */
export const command: Command = {
  usage: "workspace relink ID|NAME DIR [--request-id ID]",
  words: [2, 2],
  flags: { "request-id": { type: "string" } },
  help: [["DIR", "the directory that is the workspace's now"]],
  async run(context) {
    const [workspace = "", directory = ""] = context.positionals;
    const message = { workspace, directory: resolve(directory), ...given("request_id", flag(context, "request-id")) };
    showWorkspace(context, await context.session().admin("Relink", message));
  },
};
