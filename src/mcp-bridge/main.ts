// Entry of the bridge's bundle: `gin mcp` becomes this process.
import { runBridge } from "./run.ts";

runBridge({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd() }).then(
  // Idle connections and a paused standard input would keep the process alive.
  (status) => process.exit(status),
  (thrown: unknown) => {
    process.stderr.write(`gin mcp: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    process.exit(1);
  },
);
