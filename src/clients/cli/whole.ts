// The command line of this process. No top-level await, so that it can be bundled as CommonJS.
import { run } from "./run.ts";
import { standardInput } from "./standard-input.ts";

/** A reader that left (head, less) wants no more and is no failure. */
function tolerant<S extends NodeJS.WriteStream>(stream: S): S {
  if (stream.listenerCount("error") === 0) {
    stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  }
  return stream;
}

const io = {
  env: process.env,
  get stdout() {
    return tolerant(process.stdout);
  },
  get stderr() {
    return tolerant(process.stderr);
  },
  stdin: standardInput,
};

/** Exit status of the command line that this process was started with; settled when it is done. */
export const status: Promise<number> = run(process.argv.slice(2), io);
