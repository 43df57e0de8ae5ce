import type { StoreReader } from "../store/index.ts";
import type { OriginFact } from "./origin-types.ts";

/** Facts held in memory. */
const FACTS = 20_000;

/** Who made a generation: asked of the log once, for it never changes. */
export class Facts {
  readonly #reader: Pick<StoreReader, "checkpointAt">;
  readonly #known = new Map<string, OriginFact>();

  constructor(reader: Pick<StoreReader, "checkpointAt">) {
    this.#reader = reader;
  }

  /** The checkpoint of a generation, or what was kept of it when the log has let go of it; undefined for what is no generation. */
  of(workspace: number, generation: number, kept: ReadonlyMap<number, OriginFact>): OriginFact | undefined {
    if (generation < 0) return undefined;
    const key = `${workspace} ${generation}`;
    const known = this.#known.get(key) ?? kept.get(generation);
    if (known !== undefined) return known;
    const row = this.#reader.checkpointAt(workspace, generation);
    if (row === undefined) return undefined;
    const { id, cause, principal, requestId, message, timeMs } = row;
    const fact = { checkpoint: id, generation, cause, principal, requestId, message, timeMs };
    this.#known.set(key, fact);
    for (const old of this.#known.keys()) {
      if (this.#known.size <= FACTS) break;
      this.#known.delete(old);
    }
    return fact;
  }
}
