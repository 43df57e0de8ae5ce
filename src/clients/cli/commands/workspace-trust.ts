import { type Command, flag, given } from "../command.ts";
import { object } from "../output.ts";
import { meantWorkspace, showWorkspace } from "../workspaces.ts";

/** Lets language servers that could run code of a workspace be started for it, or no more. */
export const command: Command = {
  usage: "workspace trust [ID|NAME] [--off] [--request-id ID]",
  words: [0, 1],
  flags: { off: { type: "boolean" }, "request-id": { type: "string" } },
  help: [
    ["ID|NAME", "default: the one that --workspace or --root names, or the only one"],
    ["--off", "take the trust back"],
  ],
  async run(context) {
    const message = {
      ...(await meantWorkspace(context)),
      ...(context.values.off === true && { revoke: true }),
      ...given("request_id", flag(context, "request-id")),
    };
    const answer = await context.session().admin("TrustWorkspace", message);
    showWorkspace(context, answer);
    if (context.json) return;
    const trusted = object(answer, "info").trusted === true;
    context.err.line(
      trusted
        ? "trusted: language servers may run its build scripts, plugins and macros (docs/lsp.md)"
        : "not trusted: language servers that could run its code are not started",
    );
  },
};
