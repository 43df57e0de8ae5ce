import { type DaemonMetadata, locateHost, readMetadata } from "../../../paths/index.ts";
import { EngineError, milliseconds, TransportError } from "../../sdk/index.ts";
import { type Command, type Context, flag } from "../command.ts";
import { located } from "../located.ts";
import { maybeAlive, until, verifiedAlive } from "../process.ts";
import { EXIT } from "../run.ts";

/** Milliseconds for the daemon to answer Shutdown before it counts as wedged, unless --timeout says otherwise. */
const ANSWER_MS = 5_000;
/** Milliseconds it gets beyond its drain to close its workspaces and store. */
const CLOSE_MS = 30_000;

/** Drains the daemon and waits for its end. One that does not answer is ended by the process id it recorded, once its start time proves that it is the same process. */
export const command: Command = {
  usage: "stop [--drain TIME] [--kill-after TIME]",
  flags: { drain: { type: "string" }, "kill-after": { type: "string" } },
  help: [
    ["--drain TIME", "how long running requests may take; default 10s"],
    ["--kill-after TIME", "how long a daemon that does not answer gets between SIGTERM and SIGKILL; default 10s"],
  ],
  async run(context) {
    const drainMs = milliseconds(flag(context, "drain") ?? "10s", "--drain");
    const killMs = milliseconds(flag(context, "kill-after") ?? "10s", "--kill-after");
    const remote = context.options().endpoint !== undefined;
    const daemon = remote ? undefined : readMetadata(locateHost(located(context), context.env).metadata);
    const asked = await ask(context, drainMs);
    if (remote) {
      if (asked !== "asked") throw asked.cause;
      context.out.line("asked to stop");
      return;
    }
    if (asked === "asked") {
      if (daemon === undefined || (await until(() => !maybeAlive(daemon), drainMs + CLOSE_MS))) return done(context, "stopped");
      return await end(context, daemon, killMs);
    }
    if (daemon === undefined || !maybeAlive(daemon)) return done(context, "no daemon is running");
    return await end(context, daemon, killMs);
  },
};

/** Asks for a drain; gives why no answer came otherwise. Any refusal but "draining already" is thrown. */
async function ask(context: Context, drainMs: number): Promise<"asked" | { readonly cause: TransportError }> {
  try {
    await context
      .session({ noSpawn: true, timeoutMs: context.options().timeoutMs ?? ANSWER_MS })
      .admin("Shutdown", { drain_ms: String(drainMs) });
    return "asked";
  } catch (thrown) {
    if (thrown instanceof EngineError && thrown.detail.reason === "BUSY") return "asked";
    if (thrown instanceof TransportError) return { cause: thrown };
    throw thrown;
  }
}

async function end(context: Context, daemon: DaemonMetadata, killMs: number): Promise<number | undefined> {
  const { pid } = daemon;
  if (!verifiedAlive(daemon)) {
    context.err.line(`gin: process ${pid} cannot be proven to be the daemon: end it yourself if it is`);
    return EXIT.transport;
  }
  context.err.line(`gin: the daemon (pid ${pid}) does not answer: sending SIGTERM`);
  process.kill(pid, "SIGTERM");
  if (await until(() => !verifiedAlive(daemon), killMs)) return done(context, "stopped");
  context.err.line(`gin: it is still there: sending SIGKILL; what was acknowledged is safe`);
  if (verifiedAlive(daemon)) process.kill(pid, "SIGKILL");
  if (await until(() => !verifiedAlive(daemon), CLOSE_MS)) return done(context, "killed");
  context.err.line(`gin: process ${pid} does not end (it waits for the disk, perhaps)`);
  return EXIT.transport;
}

function done(context: Context, what: string): undefined {
  if (context.json) context.out.json({ stopped: what });
  else context.out.line(what);
}
