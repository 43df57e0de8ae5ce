import { type History, Lineages } from "./lineage.ts";

/**
 * Paths of a checkpoint that an undo which still stands took back already. An undo that left a path alone (it conflicted there and
 * was told to skip conflicts) did not take that one back; one that was itself taken back or redone does not stand.
 */
export class TakenBack {
  readonly #history: History;
  readonly #lineages: Lineages;
  readonly #touched = new Map<string, ReadonlySet<string>>();

  constructor(history: History) {
    this.#history = history;
    this.#lineages = new Lineages(history);
  }

  /** undefined when nothing ever took it back. */
  of(checkpoint: { readonly id: string; readonly generation: number }): ReadonlySet<string> | undefined {
    if (this.#history.reader.undoneBy(checkpoint.id).length === 0) return undefined;
    const gone = new Set<string>();
    for (const path of this.#paths(checkpoint.id)) if (this.#stands(checkpoint, path)) gone.add(path);
    return gone;
  }

  #stands(checkpoint: { readonly id: string; readonly generation: number }, path: string): boolean {
    const undos = this.#history.reader.undoneBy(checkpoint.id);
    if (undos.length === 0) return false;
    const names = [...this.#lineages.of(path, checkpoint.generation).names];
    return undos.some((undo) => {
      const touched = this.#paths(undo.id);
      for (const name of names) if (touched.has(name) && !this.#stands(undo, name)) return true;
      return false;
    });
  }

  #paths(id: string): ReadonlySet<string> {
    let found = this.#touched.get(id);
    if (found === undefined) {
      const { reader } = this.#history;
      found = new Set(reader.touched(id, 0, reader.touched(id, 0, 0).count).paths.map((change) => change.path));
      this.#touched.set(id, found);
    }
    return found;
  }
}
