import { UsageError } from "../clients/sdk/index.ts";
import { callTool } from "./calls/call.ts";
import { Daemon } from "./calls/daemon.ts";
import { TableList } from "./calls/table-list.ts";
import { listed } from "./catalog/listed.ts";
import { PROFILES, type Profile } from "./catalog/profiles.ts";
import { tableTool } from "./catalog/table.ts";
import { asksForHelp, bridgeOptions, profileOf, type Surroundings, usage } from "./options.ts";
import { type Served, serveProtocol } from "./protocol.ts";
import { Output } from "./transport/output.ts";
import { type End, StdioTransport } from "./transport/stdio.ts";

/** Milliseconds after the end of input in which what is pending may be answered; every call has a shorter bound of its own by default. */
const DRAIN_MS = 120_000;

/**
 * Speaks MCP on this process's standard input and output until the host ends it; gives the exit status: 0, or 1 when calls were still
 * unanswered after DRAIN_MS. A bad configuration ends nothing: it is the answer to every call.
 */
export async function runBridge(at: Surroundings): Promise<number> {
  if (asksForHelp(at.argv)) {
    process.stdout.write(usage());
    return 0;
  }
  const output = new Output();
  const profile = profileAt(at);
  const daemon = new Daemon(() => bridgeOptions(at), profile.readsOnly);
  const served = servedBy(profile, daemon);
  let lateTimer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    process.stdin.once("close", () => {
      lateTimer = setTimeout(() => resolve("late"), DRAIN_MS);
    });
  });
  const ended = new Promise<End>((resolve) => {
    serveProtocol(new StdioTransport(process.stdin, output, resolve), served);
  });
  // A mutation that was sent is waited for even when nobody hears of it: leaving would take it back while it waits in the daemon's queue.
  const clean = ended.then(() => Promise.all([daemon.settled(), output.flushed()])).then(() => "clean" as const);
  const how = await Promise.race([clean, late]);
  clearTimeout(lateTimer);
  daemon.close();
  return how === "clean" ? 0 : 1;
}

/** The profile asked for. Where none can be read, core is listed, and the fault is the answer to every call. */
function profileAt(at: Surroundings): Profile {
  try {
    return PROFILES[profileOf(at)];
  } catch (thrown) {
    if (thrown instanceof UsageError) return PROFILES.core;
    throw thrown;
  }
}

function servedBy({ tools, instructions }: Profile, daemon: Daemon): Served {
  if (tools !== "table") {
    const all = tools.map(listed);
    return {
      instructions,
      list: () => all,
      find: (name) => tools.find((tool) => tool.name === name),
      call: (tool, call) => callTool(tool, call, daemon),
    };
  }
  const table = new TableList(daemon);
  return {
    instructions,
    list: (client) => table.list(client),
    find: tableTool,
    async call(tool, call) {
      const answer = await callTool(tool, call, daemon);
      if (answer.structured !== undefined) table.heard();
      return answer;
    },
    onListChange: (listener) => table.onChange(listener),
  };
}
