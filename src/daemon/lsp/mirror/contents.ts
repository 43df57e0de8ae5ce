import { GinError } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { LspWorkspace } from "../types.ts";
import { asTold, type Marks } from "./marks.ts";
import { createText, type IndexedText } from "./text.ts";
import { notReady } from "./within.ts";

/** What a path holds, and whether that stands in the tree or only on disk. */
export interface Loaded {
  readonly text: IndexedText;
  readonly fromDisk: boolean;
}

/** Texts of a workspace by tree and path; those read lately are kept. */
export class Contents {
  readonly #workspace: LspWorkspace;
  readonly #server: string;
  readonly #marks: Marks;
  readonly #most: number;
  /** Least recently used first. */
  readonly #kept = new Map<Hash, IndexedText>();
  #characters = 0;

  constructor(workspace: LspWorkspace, server: string, marks: Marks, most: number) {
    this.#workspace = workspace;
    this.#server = server;
    this.#marks = marks;
    this.#most = most;
  }

  /**
   * The text at a path of a tree, from disk where the tree has nothing. Throws what LspWorkspace.read does, BINARY_FILE, and NOT_READY "changing" when the
   * content is not kept and the disk has another.
   */
  async load(tree: Hash, path: string, signal?: AbortSignal): Promise<Loaded> {
    const hash = this.#workspace.hashAt(tree, path);
    if (hash === undefined) return { text: await this.#read(path, undefined, signal), fromDisk: true };
    const known = this.#kept.get(hash);
    if (known !== undefined) {
      this.#keep(known);
      return { text: known, fromDisk: false };
    }
    const bytes = this.#workspace.bytes(hash);
    const text = bytes === undefined ? await this.#read(path, hash, signal) : this.#textOf(bytes, hash, path);
    this.#keep(text);
    return { text, fromDisk: false };
  }

  async #read(path: string, wanted: Hash | undefined, signal: AbortSignal | undefined): Promise<IndexedText> {
    const { sha256, bytes } = await this.#workspace.read(path, signal);
    if (wanted !== undefined && sha256 !== wanted) throw notReady(this.#server, "changing", `${path} is being changed`, 100);
    return this.#textOf(bytes, sha256, path);
  }

  #textOf(bytes: Uint8Array, sha256: Hash, path: string): IndexedText {
    return asTold(createText(bytes, sha256, path), this.#marks);
  }

  #keep(text: IndexedText): void {
    if (this.#kept.delete(text.sha256)) this.#characters -= text.text.length;
    this.#kept.set(text.sha256, text);
    this.#characters += text.text.length;
    for (const [hash, { text: old }] of this.#kept) {
      if (this.#characters <= this.#most) return;
      this.#kept.delete(hash);
      this.#characters -= old.length;
    }
  }
}

/** Undefined for what is no text that a server could be told of, or is not there; other faults are thrown. */
export async function ifText<T>(loading: Promise<T>): Promise<T | undefined> {
  try {
    return await loading;
  } catch (thrown) {
    if (thrown instanceof GinError && NO_TEXT.has(thrown.reason)) return undefined;
    throw thrown;
  }
}

const NO_TEXT: ReadonlySet<string> = new Set([
  "PATH_NOT_FOUND",
  "NOT_A_FILE",
  "NOT_A_DIRECTORY",
  "PATH_SENSITIVE",
  "PATH_OUTSIDE_WORKSPACE",
  "PATH_INVALID",
  "BINARY_FILE",
  "TOO_LARGE",
]);
