import type { Hash, TreeDifference } from "../../store/index.ts";
import type { LspWorkspace } from "../types.ts";
import type { FileEvent } from "./watched.ts";

/** Trees kept before what lies between them is put together. */
const KEPT = 64;

/**
 * The trees the head went through since the server was last told. A file that changed and changed back is no difference between first and last; the server may have
 * read it in between, and must hear of it.
 */
export class Trail {
  readonly #workspace: LspWorkspace;
  /** As told. */
  #first: Hash;
  #since: Hash[] = [];
  /** Paths that differed between trees that are not kept any more. */
  readonly #passed = new Set<string>();
  /** Somebody counts on places in `#since`. */
  #held = false;

  constructor(workspace: LspWorkspace, first: Hash) {
    this.#workspace = workspace;
    this.#first = first;
  }

  /** The head has a new tree. Throws what LspWorkspace.changes does. */
  add(tree: Hash): void {
    if (tree === (this.#since.at(-1) ?? this.#first)) return;
    this.#since.push(tree);
    if (this.#held || this.#since.length <= KEPT) return;
    for (const [from, to] of this.#steps(this.#since.length)) {
      for (const difference of this.#workspace.changes(from, to))
        if (typeOf(difference) !== undefined) this.#passed.add(difference.path);
    }
    this.#since = [tree];
  }

  /** How far it reaches: what `events` and `told` are asked up to, until `release`. The last tree is `tree`. */
  hold(tree: Hash): number {
    this.add(tree);
    this.#held = true;
    return this.#since.length;
  }

  release(): void {
    this.#held = false;
  }

  /** What a server must hear up to there; each path once. */
  *events(reach: number): Generator<FileEvent> {
    const last = this.#since[reach - 1] ?? this.#first;
    const seen = new Set<string>();
    for (const difference of last === this.#first ? [] : this.#workspace.changes(this.#first, last)) {
      const type = typeOf(difference);
      if (type === undefined) continue;
      seen.add(difference.path);
      yield { path: difference.path, type };
    }
    const again = (path: string): FileEvent[] => {
      if (seen.has(path)) return [];
      seen.add(path);
      return [{ path, type: this.#workspace.hashAt(last, path) === undefined ? 3 : 2 }];
    };
    for (const path of this.#passed) yield* again(path);
    // One step is the difference that was told.
    const steps = this.#steps(reach);
    if (steps.length < 2) return;
    for (const [from, to] of steps) {
      for (const difference of this.#workspace.changes(from, to))
        if (typeOf(difference) !== undefined) yield* again(difference.path);
    }
  }

  /** The server was told up to there. */
  told(reach: number): void {
    this.#first = this.#since[reach - 1] ?? this.#first;
    this.#since = this.#since.slice(reach);
    this.#passed.clear();
  }

  #steps(reach: number): [Hash, Hash][] {
    const trees = [this.#first, ...this.#since.slice(0, reach)];
    return trees.slice(1).map((to, index) => [trees[index] ?? to, to]);
  }
}

/** Undefined when only something that servers do not see changed: whether it is executable. */
function typeOf({ before, after }: TreeDifference): FileEvent["type"] | undefined {
  if (before === null) return 1;
  if (after === null) return 3;
  return before.sha256 === after.sha256 && before.kind === after.kind ? undefined : 2;
}
