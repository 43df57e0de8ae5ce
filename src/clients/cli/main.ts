// Entry of the CLI.
import { status } from "./whole.ts";

status.then(
  (code) => {
    process.exitCode = code;
  },
  (thrown: unknown) => {
    // `run` tells every failure itself: this is a fault in telling it.
    process.exitCode = 3;
    throw thrown;
  },
);
