import type { Handles, Held } from "./handles.ts";
import type { FileStat } from "./types.ts";

/**
 * Keeps the directories a run of walks passes open until the run ends, so that a save of many files in few directories does
 * not open the same ones again for each. Only inside `scope`, which is synchronous and short: a directory renamed meanwhile
 * is still the one that was walked to, as it is within a single walk.
 */
export class ScopedHandles implements Handles {
  readonly #inner: Handles;
  /** Kept directories by their parent's descriptor and name; undefined outside a scope. */
  #kept: Map<string, Held> | undefined;
  readonly #fds = new Set<number>();

  constructor(inner: Handles) {
    this.#inner = inner;
  }

  get confinement(): Handles["confinement"] {
    return this.#inner.confinement;
  }

  /** Runs with directories kept; a scope inside a scope is the same scope. */
  scope<T>(run: () => T): T {
    if (this.#kept !== undefined) return run();
    const kept = new Map<string, Held>();
    this.#kept = kept;
    try {
      return run();
    } finally {
      this.#kept = undefined;
      this.#fds.clear();
      for (const held of kept.values()) this.#inner.close(held);
    }
  }

  at(directory: Held, name: string | Buffer): string | Buffer {
    return this.#inner.at(directory, name);
  }

  look(directory: Held, name: string): FileStat | undefined {
    return this.#inner.look(directory, name);
  }

  hold(directory: Held, name: string | Buffer): Held | undefined {
    if (this.#kept === undefined || typeof name !== "string") return this.#inner.hold(directory, name);
    const key = `${directory.fd}/${name}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const held = this.#inner.hold(directory, name);
    if (held?.stat.kind === "directory") {
      this.#kept.set(key, held);
      this.#fds.add(held.fd);
    }
    return held;
  }

  reopen(directory: Held, name: string | Buffer, held: Held): number {
    return this.#inner.reopen(directory, name, held);
  }

  self(directory: Held): string | Buffer {
    return this.#inner.self(directory);
  }

  close(held: Held): void {
    if (!this.#fds.has(held.fd)) this.#inner.close(held);
  }
}
