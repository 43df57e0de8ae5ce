import { cutText } from "../base/index.ts";
import type { StoreReader } from "../store/index.ts";
import type { OriginFact } from "./origin-types.ts";

/** Facts held in memory for each workspace. */
const FACTS = 20_000;
/** Characters of a message that a fact carries. */
const MESSAGE_CHARACTERS = 200;

/** Who made a generation: asked of the log once, for it never changes. */
export class Facts {
  readonly #reader: Pick<StoreReader, "checkpointAt">;
  /** By workspace, then generation. */
  readonly #known = new Map<number, Map<number, OriginFact>>();

  constructor(reader: Pick<StoreReader, "checkpointAt">) {
    this.#reader = reader;
  }

  /** The checkpoint of a generation, or what was kept of it when the log has let go of it; undefined for what is no generation. */
  of(workspace: number, generation: number, kept: ReadonlyMap<number, OriginFact>): OriginFact | undefined {
    if (generation < 0) return undefined;
    const known = this.#known.get(workspace)?.get(generation) ?? kept.get(generation);
    if (known !== undefined) return known;
    const row = this.#reader.checkpointAt(workspace, generation);
    if (row === undefined) return undefined;
    const { id, cause, principal, requestId, timeMs } = row;
    const fact = { checkpoint: id, generation, cause, principal, requestId, message: briefly(row.message), timeMs };
    const facts = this.#known.get(workspace) ?? new Map<number, OriginFact>();
    this.#known.set(workspace, facts.set(generation, fact));
    for (const old of facts.keys()) {
      if (facts.size <= FACTS) break;
      facts.delete(old);
    }
    return fact;
  }
}

/** The first line, cut between two characters: a thousand lines of a page may each carry it. */
function briefly(message: string): string {
  const line = message.split(/\r?\n/, 1)[0] ?? "";
  return cutText(line, MESSAGE_CHARACTERS);
}
