import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { LspWorkspace } from "../../../src/daemon/lsp/types.ts";
import type { TreeDifference } from "../../../src/daemon/store/index.ts";
import { checkPath, isSensitive, type State } from "../../../src/daemon/workspace/index.ts";

export const sha = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

type Tree = ReadonlyMap<string, string>;

let made = 0;

/** A workspace over a real directory: each settle looks at all of it. node_modules is there and not recorded, as an ignored directory is. */
export class DiskWorkspace implements LspWorkspace {
  readonly rowid: number;
  readonly id: string;
  readonly root: string;
  trusted = true;
  /** Awaited by each settle before it looks. */
  beforeSettle: () => Promise<void> = async () => {};
  settles = 0;
  readonly #trees = new Map<string, Tree>();
  readonly #contents = new Map<string, Buffer>();
  readonly #listeners = new Set<(state: State) => void>();
  #generation = 0;
  #tree = "";

  constructor(root: string, files: Readonly<Record<string, string>> = {}) {
    made += 1;
    this.rowid = made;
    this.id = `ws_${made}`;
    this.root = root;
    for (const [path, content] of Object.entries(files)) this.write(path, content);
    this.record();
  }

  write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }
  remove(path: string): void {
    rmSync(join(this.root, path));
  }
  async settle(signal?: AbortSignal): Promise<State> {
    this.settles += 1;
    await this.beforeSettle();
    if (signal?.aborted === true) throw new GinError("CANCELLED", "the caller gave up");
    this.record();
    return this.#state();
  }
  /** As a settle does, at once. */
  record(): void {
    const tree = new Map<string, string>();
    const names = readdirSync(this.root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.root.length + 1));
    for (const path of names.sort()) {
      if (isSensitive(path) || path.split("/").includes("node_modules")) continue;
      const bytes = readFileSync(join(this.root, path));
      tree.set(path, sha(bytes));
      this.#contents.set(sha(bytes), bytes);
    }
    const hash = sha(JSON.stringify([...tree]));
    if (hash === this.#tree) return;
    this.#trees.set(hash, tree);
    this.#tree = hash;
    this.#generation += 1;
    for (const listener of this.#listeners) listener(this.#state());
  }
  get generation(): number {
    return this.#generation;
  }
  #state(): State {
    return { incarnation: "in_1", generation: this.#generation, epoch: 1, head: "ck_1" };
  }
  tree = () => this.#tree;
  #of(tree: string): Tree {
    const found = this.#trees.get(tree);
    if (found === undefined) throw new GinError("HISTORY_TRIMMED", "that tree is gone");
    return found;
  }
  *changes(from: string, to: string): Generator<TreeDifference> {
    const [before, after] = [this.#of(from), this.#of(to)];
    const state = (sha256: string | undefined) =>
      sha256 === undefined
        ? null
        : { kind: "file" as const, sha256, size: this.#contents.get(sha256)?.length ?? 0, executable: false };
    for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
      if (before.get(path) !== after.get(path)) yield { path, before: state(before.get(path)), after: state(after.get(path)) };
    }
  }
  hashAt(tree: string, path: string): string | undefined {
    return this.#of(tree).get(path);
  }
  *files(tree: string, prefix: string): Generator<string> {
    for (const path of this.#of(tree).keys()) if (prefix === "" || path.startsWith(`${prefix}/`)) yield path;
  }
  bytes(sha256: string): Uint8Array | undefined {
    return this.#contents.get(sha256);
  }
  async read(asked: string) {
    const path = this.canonical(asked);
    try {
      const bytes = readFileSync(join(this.root, path));
      return { path, sha256: sha(bytes), bytes };
    } catch {
      throw new GinError("PATH_NOT_FOUND", `nothing is at ${path}`, undefined, { facts: { path } });
    }
  }
  scope(run: () => void): void {
    run();
  }
  canonical(asked: string): string {
    const path = checkPath(asked);
    if (isSensitive(path)) throw new GinError("PATH_SENSITIVE", `${path} is protected`, undefined, { facts: { path } });
    try {
      const real = realpathSync(join(this.root, path));
      if (real === this.root) return "";
      if (!real.startsWith(`${this.root}/`)) throw new GinError("PATH_OUTSIDE_WORKSPACE", `${path} leads outside`);
      return real.slice(this.root.length + 1);
    } catch (thrown) {
      if (thrown instanceof GinError) throw thrown;
      return path;
    }
  }
  touched = () => [];
  onChange(listener: (state: State) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
