import type { Command } from "../command.ts";
import { FENCE_FLAGS, FENCE_HELP, leaseFields } from "../leases.ts";

/** Gives a lease back; releasing again changes nothing. */
export const command: Command = {
  usage: "lease release LEASE_ID --lease-incarnation ID --lease-epoch N",
  words: [1, 1],
  flags: FENCE_FLAGS,
  help: FENCE_HELP,
  async run(context) {
    const answer = await context.session().run("release_lease", leaseFields(context));
    if (context.json) context.out.json(answer);
    else context.out.line(answer.released === true ? "released" : "it was no longer held");
  },
};
