// gin_read of 4 KiB over stdio, against a hand-written loop that answers the same bytes as a constant: what the bridge, the SDK of MCP and
// the daemon add to a call together. The same read straight through our SDK tells how much of it is the daemon's: by profile the bridge
// itself spends most of its share in two system calls, the POST to the daemon and the answer to the host, each of which wakes another process.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openSession } from "../src/clients/sdk/index.ts";
import { plainEnv, repo, scratch, startDaemon } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, report, round, shown } from "./support/report.ts";

const RUNS = 2_000;
const STARTS = 15;
const text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n".repeat(64);
const CALL = { name: "gin_read", arguments: { path: "file.txt" } };
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};

const daemon = await startDaemon();
writeFileSync(join(daemon.root, "file.txt"), text);
const session = openSession({ host: daemon.host, noSpawn: true });
const answer = await session.run("read_path", { path: "file.txt" });

const children: ChildProcess[] = [];
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** A server on stdio, one request at a time. */
class Server {
  readonly child: ChildProcess;
  #waiting: ((line: string) => void) | undefined;
  #id = 0;

  constructor(args: readonly string[]) {
    this.child = spawn(process.execPath, args, { cwd: repo, env: plainEnv, stdio: ["pipe", "pipe", "inherit"] });
    children.push(this.child);
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on("line", (line) => this.#waiting?.(line));
  }

  ask(method: string, params: object): Promise<string> {
    const answered = new Promise<string>((resolve) => {
      this.#waiting = resolve;
    });
    this.#id += 1;
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params })}\n`);
    return answered;
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.child.once("exit", () => resolve());
      this.child.stdin?.end();
    });
  }
}

const gin = ["bin/gin", "mcp", "--host", daemon.host, "--root", daemon.root];
const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };

/** The least a server can do: a line in, the constant out under its id. */
const loop = join(scratch("mcp"), "loop.mjs");
writeFileSync(
  loop,
  `const constant = ${JSON.stringify(JSON.stringify({ content: [{ type: "text", text: JSON.stringify(answer) }] }))};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.parse(line).id + ',"result":' + constant + "}\\n");
});`,
);

async function opened(): Promise<Server> {
  const server = new Server(gin);
  await server.ask("initialize", initialize);
  return server;
}

const legacy = await opened();
const modern = new Server(gin);
const hand = new Server([loop]);
const check = (line: string): void => {
  if (!line.includes("0123456789abcdef") || line.includes("isError")) throw new Error(`no read: ${line.slice(0, 300)}`);
};

/** Milliseconds of processor time a process has used: what it costs, whatever else the machine does. */
function processorMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const times = await sideBySide(
  {
    legacy: async () => check(await legacy.ask("tools/call", CALL)),
    modern: async () => check(await modern.ask("tools/call", { ...CALL, _meta: ENVELOPE })),
    hand: async () => check(await hand.ask("tools/call", CALL)),
    sdk: async () => void (await session.run("read_path", { path: "file.txt" })),
  },
  { runs: RUNS, warm: 300, rounds: 20 },
);

/** What one call costs the bridge and the daemon in processor time, over as many calls again. */
async function costs(server: Server): Promise<{ bridge: number; daemon: number }> {
  const before = [processorMs(server.child.pid), processorMs(daemon.pid)] as const;
  for (let call = 0; call < RUNS; call += 1) check(await server.ask("tools/call", CALL));
  return {
    bridge: (processorMs(server.child.pid) - before[0]) / RUNS,
    daemon: (processorMs(daemon.pid) - before[1]) / RUNS,
  };
}
const cost = await costs(legacy);
const handCost = await costs(hand);

const starts = await sideBySide(
  {
    gin: async () => await (await opened()).end(),
    hand: async () => {
      const server = new Server([loop]);
      await server.ask("initialize", initialize);
      await server.end();
    },
  },
  { runs: STARTS, warm: 1, rounds: STARTS },
);

report(
  "mcp",
  {
    "p50 added to a hand loop, legacy (ms)": atMost(round(times.legacy.p50 - times.hand.p50), 0.5),
    "p50 added to a hand loop, modern (ms)": atMost(round(times.modern.p50 - times.hand.p50), 0.5),
    "p50 added to our SDK, legacy (ms)": shown(times.legacy.p50 - times.sdk.p50),
    "start and end to those of a hand loop": shown(starts.gin.p50 / starts.hand.p50),
  },
  {
    legacy_p50_ms: times.legacy.p50,
    legacy_p95_ms: times.legacy.at(0.95),
    legacy_p99_ms: times.legacy.at(0.99),
    modern_p50_ms: times.modern.p50,
    modern_p95_ms: times.modern.at(0.95),
    hand_p50_ms: times.hand.p50,
    hand_p95_ms: times.hand.at(0.95),
    sdk_p50_ms: times.sdk.p50,
    sdk_p95_ms: times.sdk.at(0.95),
    bridge_processor_ms_a_call: cost.bridge,
    daemon_processor_ms_a_call: cost.daemon,
    hand_processor_ms_a_call: handCost.bridge,
    start_p50_ms: starts.gin.p50,
    hand_start_p50_ms: starts.hand.p50,
  },
  RUNS,
);
await Promise.all([legacy.end(), modern.end(), hand.end()]);
session.close();
await daemon.stop();
process.exit(0);
