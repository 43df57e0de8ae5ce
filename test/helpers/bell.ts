import { EventEmitter, once } from "node:events";

/** Tells whoever waits that something went on: for loops that look again at each step instead of now and then. */
export class Bell {
  readonly #steps = new EventEmitter().setMaxListeners(0);

  readonly ring = (): void => void this.#steps.emit("step");

  /** Resolves once `holds` is true; looks at it now and at each ring. Rejects after `withinMs`, where that is given. */
  async until(holds: () => boolean, withinMs?: number): Promise<void> {
    const bound = withinMs === undefined ? {} : { signal: AbortSignal.timeout(withinMs) };
    while (!holds()) await once(this.#steps, "step", bound);
  }
}
