import { milliseconds } from "../../sdk/index.ts";
import { type Command, flag, given } from "../command.ts";
import { showLease } from "../leases.ts";

/** Takes a lease on some path prefixes, or on the whole workspace. */
export const command: Command = {
  usage: "lease acquire [PATH]… [--ttl TIME] [--intent TEXT] [--wait TIME] [--request-id ID]",
  words: [0, Number.POSITIVE_INFINITY],
  flags: { ttl: { type: "string" }, intent: { type: "string" }, wait: { type: "string" }, "request-id": { type: "string" } },
  help: [
    ["PATH", "prefixes to write under; none is the whole workspace"],
    ["--ttl TIME", "5s to 1h; default 10m"],
    ["--intent TEXT", "what you mean to do, shown to whoever is refused"],
    ["--wait TIME", "how long to wait in line, at most 60s"],
  ],
  async run(context) {
    const time = (name: string) => {
      const value = flag(context, name);
      return value === undefined ? undefined : milliseconds(value, `--${name}`);
    };
    const wait = time("wait") ?? 0;
    const message = {
      paths: [...context.positionals],
      ...given("ttl_ms", time("ttl")),
      ...given("intent", flag(context, "intent")),
      ...(wait > 0 && { wait_ms: wait }),
      ...given("request_id", flag(context, "request-id")),
    };
    const bound = context.options().timeoutMs;
    // The wait is the caller's wish: the bound of the call must not cut it off.
    const options = wait > 0 && bound === undefined ? { timeoutMs: wait + 60_000 } : {};
    showLease(context, await context.session().run("acquire_lease", message, options), "granted");
  },
};
