import type { Command } from "../command.ts";
import { list, text, texts } from "../output.ts";

/** Tokens, their scopes and until when they are good; never the tokens themselves. */
export const command: Command = {
  usage: "token list",
  async run(context) {
    const answer = await context.session().admin("ListTokens");
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const rows = list(answer, "tokens").map((token) => [
      text(token, "id"),
      text(token, "principal"),
      texts(token, "scopes").join(","),
      text(token, "revoked") === "" ? text(token, "expires") : "revoked",
      text(token, "last_used") || "never",
      [...texts(token, "workspaces"), ...texts(token, "paths")].join(" "),
    ]);
    if (rows.length === 0) out.line("no tokens");
    else out.table(["token", "principal", "scopes", "expires", "last used", "only for"], rows);
  },
};
