import { resolve } from "node:path";
import { type Command, type Context, flag, given } from "../command.ts";
import { object, text } from "../output.ts";
import { showLine } from "../terminal.ts";
import { importFacts, showWorkspace } from "../workspaces.ts";

/** Milliseconds between two questions how far it is. */
const ASK_MS = 250;
/** Questions between two lines of progress. */
const LINE_EVERY = 4;

/** Asks until the import has ended; says now and then how far it is. Reads and saves need not wait for it. */
async function waitForImport(context: Context, workspace: string): Promise<void> {
  for (let asked = 0; ; asked++) {
    const answer = await context.session().run("context", { workspace, sections: ["import"] });
    const progress = object(answer, "import");
    if (progress.done !== false) return;
    if (asked % LINE_EVERY === LINE_EVERY - 1) context.err.line(showLine(`importing: ${importFacts(progress)}`));
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}

/** Serves one more directory; for the owner. */
export const command: Command = {
  usage: "workspace open DIR [--name NAME] [--wait] [--request-id ID]",
  words: [1, 1],
  flags: { name: { type: "string" }, wait: { type: "boolean" }, "request-id": { type: "string" } },
  help: [
    ["--name NAME", "name of a new workspace; default the directory's"],
    ["--wait", "until the whole directory is imported; progress goes to standard error"],
  ],
  async run(context) {
    const answer = await context.session().admin("OpenWorkspace", {
      root: resolve(context.positionals[0] ?? "."),
      ...given("name", flag(context, "name")),
      ...given("repository", context.options().repository),
      ...given("request_id", flag(context, "request-id")),
    });
    if (context.values.wait === true) await waitForImport(context, text(object(answer, "info"), "id"));
    showWorkspace(context, answer);
  },
};
