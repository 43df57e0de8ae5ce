import { type Command, flag, given } from "../command.ts";
import { object, text } from "../output.ts";
import { showLine } from "../terminal.ts";

/** Makes a token useless at once. */
export const command: Command = {
  usage: "token revoke TOKEN_ID [--request-id ID]",
  words: [1, 1],
  flags: { "request-id": { type: "string" } },
  help: [["TOKEN_ID", "the public half, tk_…: gin token list shows it"]],
  async run(context) {
    const [id = ""] = context.positionals;
    const answer = await context.session().admin("RevokeToken", { id, ...given("request_id", flag(context, "request-id")) });
    if (context.json) context.out.json(answer);
    else context.out.line(`revoked ${showLine(text(object(answer, "info"), "id"))}`);
  },
};
