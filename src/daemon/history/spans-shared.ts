import { GinError } from "../base/index.ts";

interface Flight<T> {
  readonly done: Promise<T>;
  readonly control: AbortController;
  waiting: number;
}

/** Work that several callers may want at once: done once, and stopped when the last of them gives up. */
export class Shared<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Joins the work under a key, or starts it. Rejects with CANCELLED as soon as `signal` fires, whatever the work does. */
  async run(key: string, signal: AbortSignal | undefined, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal?.aborted === true) throw cancelled();
    const flight = this.#flights.get(key) ?? this.#launch(key, start);
    flight.waiting += 1;
    let stop = (): void => {};
    const given = new Promise<never>((_, reject) => {
      stop = () => reject(cancelled());
    });
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([flight.done, given]);
    } finally {
      signal?.removeEventListener("abort", stop);
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.control.abort();
      }
    }
  }

  #launch(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const control = new AbortController();
    const done = start(control.signal);
    // Those who wait get its failure; with nobody waiting it is nobody's.
    done.catch(() => {});
    const flight: Flight<T> = { done, control, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }
}

function cancelled(): GinError {
  return new GinError("CANCELLED", "the caller gave up");
}
