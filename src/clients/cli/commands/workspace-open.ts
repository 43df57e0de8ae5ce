import { resolve } from "node:path";
import { type Command, flag, given } from "../command.ts";
import { showWorkspace } from "../workspaces.ts";

/** Serves one more directory; for the owner. */
export const command: Command = {
  usage: "workspace open DIR [--name NAME] [--request-id ID]",
  words: [1, 1],
  flags: { name: { type: "string" }, "request-id": { type: "string" } },
  help: [["--name NAME", "name of a new workspace; default the directory's"]],
  async run(context) {
    const answer = await context.session().admin("OpenWorkspace", {
      root: resolve(context.positionals[0] ?? "."),
      ...given("name", flag(context, "name")),
      ...given("repository", context.options().repository),
      ...given("request_id", flag(context, "request-id")),
    });
    showWorkspace(context, answer);
  },
};
