import { setTimeout as delay } from "node:timers/promises";
import { EngineError } from "./errors.ts";
import type { SessionOptions } from "./flags.ts";

/** First wait where the refusal names none, in milliseconds. */
const WAIT_MS = 250;

/**
 * Runs a call again for as long as it is refused because the workspace's first look at its tree has not ended, at most `timeoutMs` (0 is
 * without end); then the refusal stands. Such a call was not carried out, so sending it again is safe.
 */
export async function whileImporting<T>(
  run: () => Promise<T>,
  told: NonNullable<SessionOptions["onImporting"]>,
  timeoutMs: number,
): Promise<T> {
  const until = timeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
  for (;;) {
    try {
      return await run();
    } catch (thrown) {
      const detail = thrown instanceof EngineError ? thrown.detail : undefined;
      const waitMs = detail?.retryAfterMs || WAIT_MS;
      if (detail?.reason !== "NOT_READY" || detail.facts.state !== "importing" || performance.now() + waitMs > until)
        throw thrown;
      told({ files: String(detail.facts.files), directoriesLeft: String(detail.facts.directories_left) });
      await delay(waitMs);
    }
  }
}
