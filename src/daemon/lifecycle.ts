import * as fs from "node:fs";
import type { DaemonLog } from "./host/index.ts";

/** Milliseconds that running requests get when a signal ends the daemon. */
export const SIGNAL_DRAIN_MS = 10_000;
/** Milliseconds for everything after the drain; past them the process ends as if killed, which recovery is made for. */
const CLOSE_BOUND_MS = 30_000;

/** What has to end, in this order. */
export interface LifecycleParts {
  /** Stops taking requests, waits for running ones at most `ms`; true when all ended. */
  readonly drain: (ms: number) => Promise<boolean>;
  /** Ends what the drain left, connections too. */
  readonly closeListener: () => Promise<void>;
  /** Closers of everything else, workspaces first, the store last. */
  readonly close: readonly (() => Promise<void> | void)[];
  /** Removed before the lock is let go. */
  readonly metadataFile: string;
  /** Lets go of the host. */
  readonly release: () => void;
  readonly log: DaemonLog;
}

/** Serving → draining → ended; nothing leads back. */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  #draining = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Begins the end in a later turn, so that the caller's own answer is on its way; asking again changes nothing. */
  end(drainMs: number, why: string): void {
    if (this.#draining) return;
    this.#draining = true;
    setImmediate(() => {
      this.#end(drainMs, why).catch((thrown: unknown) => {
        this.#parts.log.error({ err: thrown }, "the daemon did not end in order");
        process.exit(1);
      });
    });
  }

  /** The first signal drains; the second one ends the process at once. */
  onSignals(): void {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (this.#draining) {
          this.#parts.log.warn({ signal }, "ended at once");
          process.exit(1);
        }
        this.end(SIGNAL_DRAIN_MS, signal);
      });
    }
  }

  async #end(drainMs: number, why: string): Promise<void> {
    const { log, drain, closeListener, close, metadataFile, release } = this.#parts;
    log.info({ why, drainMs }, "draining");
    // Also what keeps the process alive from here on: everything else that would may be closed already.
    setTimeout(() => {
      log.error({}, "closing took too long");
      process.exit(1);
    }, drainMs + CLOSE_BOUND_MS);
    const finished = await drain(drainMs);
    if (!finished) log.warn({}, "some requests did not end within the drain");
    await closeListener();
    for (const closer of close) await closer();
    fs.rmSync(metadataFile, { force: true });
    release();
    log.info({}, "ended");
    log.close();
    process.exit(0);
  }
}
