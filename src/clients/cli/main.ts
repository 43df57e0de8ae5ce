// Entry of dist/gin.mjs: wires `run` to this process.
import { run } from "./run.ts";

// A reader that left (head, less) wants no more and is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

process.exitCode = await run(process.argv.slice(2), process);
