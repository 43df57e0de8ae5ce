import { type Command, flag, given } from "../command.ts";
import { duration, list, text, texts } from "../output.ts";
import { more, pageLimit } from "../paging.ts";

/** Who holds what. */
export const command: Command = {
  usage: "lease list [--limit N] [--cursor CURSOR]",
  flags: { limit: { type: "string" }, cursor: { type: "string" } },
  help: [
    ["--limit N", "at most so many"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
  ],
  async run(context) {
    const answer = await context
      .session()
      .run("list_leases", { limit: pageLimit(context, 0), ...given("cursor", flag(context, "cursor")) });
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const rows = list(answer, "leases").map((lease) => [
      text(lease, "lease_id"),
      text(lease, "holder"),
      duration(text(lease, "remaining_ms")),
      texts(lease, "paths").join(" ") || "(all)",
      text(lease, "intent"),
    ]);
    if (rows.length === 0) out.line("no leases");
    else out.table(["lease", "holder", "remaining", "paths", "intent"], rows);
    more(context, text(answer, "next_cursor"));
  },
};
