import { parentPort, workerData } from "node:worker_threads";
import { GinError } from "../base/index.ts";
import type { Transaction } from "./commands/index.ts";
import { type CarriedError, carry, storeError } from "./errors.ts";
import type { Commands } from "./types.ts";
import { Writer, type WriterOptions } from "./writer.ts";

/** What the store thread is sent; each is answered once. "close" is the last. */
export type ToWorker =
  | { readonly id: number; readonly command: Transaction; readonly value: Commands[Transaction]["in"] }
  | { readonly id: number; readonly command: "backup"; readonly value: Commands["backup"]["in"] }
  | { readonly id: number; readonly command: "close" };

/** What it answers; id 0 is said once, when the store is open or could not be opened. */
export type FromWorker =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: CarriedError };

/** Milliseconds without a message after which the thread does what can wait. */
const REST_AFTER_MS = 20;

/** Entry of the store thread: opens the store, then runs what comes, in order. */
function main(): void {
  const port = parentPort;
  if (port === null) throw new GinError("INTERNAL", "the store thread's entry was started as a program");
  const answer = (message: FromWorker): void => port.postMessage(message);
  const attempt = (id: number, run: () => unknown): void => {
    try {
      answer({ id, result: run() });
    } catch (thrown) {
      answer({ id, error: carry(storeError(thrown)) });
    }
  };
  let writer: Writer;
  try {
    writer = new Writer(workerData as WriterOptions);
  } catch (thrown) {
    answer({ id: 0, error: carry(storeError(thrown)) });
    return;
  }
  let resting: NodeJS.Timeout | undefined;
  port.on("message", (message: ToWorker) => {
    const { id } = message;
    if (message.command === "close") {
      clearTimeout(resting);
      attempt(id, () => writer.close());
      port.close();
      return;
    }
    if (message.command === "backup") {
      writer.backup(message.value).then(
        (result) => answer({ id, result }),
        (thrown: unknown) => answer({ id, error: carry(storeError(thrown)) }),
      );
      return;
    }
    const { command, value } = message;
    attempt(id, () => writer.run(command, value));
    if (resting === undefined) resting = setTimeout(rest, REST_AFTER_MS);
    else resting.refresh();
  });
  const rest = (): void => writer.rest();
  resting = setTimeout(rest, 0);
  answer({ id: 0, result: null });
}

main();
