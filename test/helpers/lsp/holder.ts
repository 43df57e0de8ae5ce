// A process that holds a session with the fake server until it is killed: options of the server in argv. Prints the server's pid once it is ready.
import { nodeCommands, systemClock } from "../../../src/daemon/base/index.ts";
import { createSession } from "../../../src/daemon/lsp/session/index.ts";

const [spec = "{}"] = process.argv.slice(2);
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const session = createSession(
  { ...JSON.parse(spec), settings: () => null },
  { clock: systemClock, commands: nodeCommands, log: silent, processId: process.pid, version: "0.0.0" },
);
await session.run({ atMs: systemClock.monotonicMs() + 20_000, signal: new AbortController().signal });
process.stdout.write(`${session.pid}\n`);
setInterval(() => {}, 1_000_000);
