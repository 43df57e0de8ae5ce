import { systemClock } from "../../../src/daemon/base/index.ts";
import {
  type Anchors,
  createAnchors,
  createDiffer,
  createOrigins,
  type FileOrigin,
  type Origins,
} from "../../../src/daemon/history/index.ts";
import type { CauseName, Content, PathChange, PathState, Store } from "../../../src/daemon/store/index.ts";
import { quiet } from "../../kernel/workspace/site.ts";
import { Line, sha } from "../store/line.ts";

/** One differ for all tests of a file: its thread starts only for large texts. */
export const differ = createDiffer();

/** How a step of a story is made. */
export interface Telling {
  readonly cause?: CauseName;
  readonly principal?: string;
  readonly undoes?: readonly string[];
  /** New path by the old one it was renamed from. */
  readonly renames?: { readonly [to: string]: string };
  /** Executable bits to set. */
  readonly modes?: { readonly [path: string]: boolean };
}

/** A history told checkpoint by checkpoint, in a real store. Contents have one character a byte. */
export class Story {
  readonly #line: Line;
  readonly store: Store;

  private constructor(store: Store, line: Line) {
    this.store = store;
    this.#line = line;
  }

  static async begin(store: Store, id?: string): Promise<Story> {
    return new Story(store, await Line.make(store, id));
  }

  get workspace(): number {
    return this.#line.rowid;
  }

  get generation(): number {
    return this.#line.generation;
  }

  /** One checkpoint over some paths; null deletes. Gives its id. */
  async tell(contents: { readonly [path: string]: string | null }, how: Telling = {}): Promise<string> {
    const { cause = "save", principal = "alice", undoes, renames = {}, modes = {} } = how;
    const bytes = Object.fromEntries(
      Object.entries(contents).map(([path, text]) => [path, text === null ? null : Buffer.from(text, "latin1")]),
    );
    const paths: PathChange[] = Object.entries(bytes).map(([path, after]) => {
      const content: PathState =
        after === null ? null : { kind: "file", sha256: sha(after), size: after.length, executable: modes[path] ?? false };
      const from = renames[path];
      const change = { path, before: this.store.trees.get(this.#line.tree, path), after: content };
      return from === undefined ? change : { ...change, renamedFrom: from };
    });
    const { root, nodes } = this.store.trees.change(this.#line.tree, paths);
    const more = { cause, principal, paths, tree: root, ...(undoes === undefined ? {} : { undoes }) };
    return this.#line.save(bytes, { journal: [], nodes }, more);
  }

  /** What a path holds at a generation. */
  content(path: string, generation = this.generation): Content {
    const tree = this.store.read.checkpointAt(this.workspace, generation)?.tree;
    const found = tree === undefined ? null : this.store.trees.get(tree, path);
    if (found === null) throw new Error(`nothing is at ${path}`);
    return found;
  }

  /** Origins that remember nothing yet. */
  origins(): Origins {
    return createOrigins({ store: this.store, differ, clock: systemClock, log: quiet });
  }

  anchors(): Anchors {
    return createAnchors({ store: this.store, differ, clock: systemClock });
  }

  file(path: string, generation = this.generation, origins = this.origins()): Promise<FileOrigin> {
    return origins.file(this.workspace, path, generation, this.content(path, generation));
  }

  /** Origins as text: "1-2 ck_a" a span, "?" for unknown. */
  async spans(path: string, generation = this.generation, origins?: Origins): Promise<string[]> {
    const { spans } = await this.file(path, generation, origins);
    return spans.map(({ startLine, endLine, origin }) => `${startLine}-${endLine} ${origin?.checkpoint ?? "?"}`);
  }
}
