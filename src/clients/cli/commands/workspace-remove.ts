import { type Command, flag, given } from "../command.ts";
import { meantWorkspace, showWorkspace } from "../workspaces.ts";

/** Gives up a workspace's history; its directory stays as it is. */
export const command: Command = {
  usage: "workspace remove [ID|NAME] [--request-id ID]",
  words: [0, 1],
  flags: { "request-id": { type: "string" } },
  help: [["ID|NAME", "default: the one that --workspace or --root names, or the only one"]],
  async run(context) {
    const message = { ...(await meantWorkspace(context)), ...given("request_id", flag(context, "request-id")) };
    showWorkspace(context, await context.session().admin("RemoveWorkspace", message));
  },
};
