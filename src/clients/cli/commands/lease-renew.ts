import { milliseconds } from "../../sdk/index.ts";
import { type Command, flag, given } from "../command.ts";
import { FENCE_FLAGS, FENCE_HELP, leaseFields, showLease } from "../leases.ts";

/** Prolongs a lease; its epoch stays. */
export const command: Command = {
  usage: "lease renew LEASE_ID --lease-incarnation ID --lease-epoch N [--ttl TIME]",
  words: [1, 1],
  flags: { ...FENCE_FLAGS, ttl: { type: "string" } },
  help: [...FENCE_HELP, ["--ttl TIME", "5s to 1h; default as it was granted"]],
  async run(context) {
    const ttl = flag(context, "ttl");
    const message = { ...leaseFields(context), ...given("ttl_ms", ttl === undefined ? undefined : milliseconds(ttl, "--ttl")) };
    showLease(context, await context.session().run("renew_lease", message), "renewed");
  },
};
