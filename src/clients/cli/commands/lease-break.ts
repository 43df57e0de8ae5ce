import { type Command, flag, given } from "../command.ts";
import { showLease } from "../leases.ts";

/** Ends somebody's lease; for the owner. */
export const command: Command = {
  usage: "lease break LEASE_ID [--note TEXT] [--request-id ID]",
  words: [1, 1],
  flags: { note: { type: "string" }, "request-id": { type: "string" } },
  help: [["--note TEXT", "why, for the record"]],
  async run(context) {
    const answer = await context.session().run("break_lease", {
      lease_id: context.positionals[0] ?? "",
      ...given("note", flag(context, "note")),
      ...given("request_id", flag(context, "request-id")),
    });
    showLease(context, answer, "broken");
  },
};
