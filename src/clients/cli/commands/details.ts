import type { JsonObject } from "../../sdk/index.ts";
import { type Command, flag, given } from "../command.ts";
import { text } from "../output.ts";
import { more, pageLimit } from "../paging.ts";

/** The long list or text another answer only counted; whole, unless a limit or `--json` asks for one page. */
export const command: Command = {
  usage: "details DETAIL_ID [--limit BYTES] [--cursor CURSOR]",
  words: [1, 1],
  flags: { limit: { type: "string" }, cursor: { type: "string" } },
  help: [
    ["--limit BYTES", "one page of at most so many bytes"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
  ],
  async run(context) {
    const session = context.session();
    const onePage = context.json || flag(context, "limit") !== undefined;
    let message: JsonObject = {
      detail_id: context.positionals[0] ?? "",
      limit: pageLimit(context, 0),
      ...given("cursor", flag(context, "cursor")),
    };
    for (;;) {
      const page = await session.run("details", message);
      const next = text(page, "next_cursor");
      if (context.json) context.out.json(page);
      else context.out.content(text(page, "text"));
      if (onePage && !context.json) more(context, next);
      if (onePage || next === "") return;
      message = { ...message, cursor: next };
    }
  },
};
