import type { Clock } from "../base/index.ts";

/** When a daemon that was started on demand has been unused for long enough. */
export interface IdleOptions {
  readonly clock: Clock;
  /** Milliseconds without use. */
  readonly idleMs: number;
  /** Whether somebody uses it at this moment: a connection, a lease, a running request, an unfinished save. */
  readonly inUse: () => boolean;
  /** Called once. */
  readonly onIdle: () => void;
}

/** Watches for idleness by looking a few times a period; gives the function that stops watching. */
export function watchIdle(options: IdleOptions): () => void {
  const step = Math.max(100, Math.min(30_000, options.idleMs / 8));
  let lastUse = options.clock.monotonicMs();
  let stop = options.clock.after(step, look);
  function look(): void {
    const now = options.clock.monotonicMs();
    if (options.inUse()) lastUse = now;
    if (now - lastUse >= options.idleMs) options.onIdle();
    else stop = options.clock.after(step, look);
  }
  return () => stop();
}
