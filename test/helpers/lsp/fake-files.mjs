// The files the fake server sees: what is open by didOpen/didChange, and the disk below its root, stale until it is told.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { changed } from "./fake-text.mjs";

const SKIPPED = new Set([".git", "node_modules"]);

export class Files {
  /** Open documents: uri → {text, version, languageId}. */
  open = new Map();
  #disk = new Map();
  #root;
  #encoding;
  #fresh;

  constructor(rootUri, encoding, fresh) {
    this.#root = rootUri;
    this.#encoding = encoding;
    this.#fresh = fresh;
    if (!fresh) this.#scan();
  }

  didOpen({ textDocument: { uri, text, version, languageId } }) {
    if (this.open.has(uri)) throw new Error(`opened twice: ${uri}`);
    this.open.set(uri, { text, version, languageId });
  }

  didChange({ textDocument: { uri, version }, contentChanges }) {
    const document = this.open.get(uri);
    if (document === undefined) throw new Error(`changed, and not open: ${uri}`);
    document.text = changed(document.text, contentChanges, this.#encoding);
    document.version = version;
  }

  didClose({ textDocument: { uri } }) {
    if (!this.open.delete(uri)) throw new Error(`closed, and not open: ${uri}`);
  }

  didChangeWatched({ changes }) {
    for (const { uri } of changes) this.#look(uri);
  }

  /** Text and version (null: of the disk) as believed; null for nothing. */
  known(uri) {
    const document = this.open.get(uri);
    if (document !== undefined) return { text: document.text, version: document.version };
    if (this.#fresh) this.#look(uri);
    const text = this.#disk.get(uri);
    return text === undefined ? null : { text, version: null };
  }

  /** [uri, text] of all there are, by uri. */
  all() {
    if (this.#fresh) this.#scan();
    const texts = new Map(this.#disk);
    for (const [uri, { text }] of this.open) texts.set(uri, text);
    return [...texts].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  #look(uri) {
    try {
      this.#disk.set(uri, readFileSync(fileURLToPath(uri), "utf8"));
    } catch {
      this.#disk.delete(uri);
    }
  }

  #scan() {
    this.#disk.clear();
    if (typeof this.#root !== "string") return;
    const walk = (directory) => {
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        if (SKIPPED.has(entry.name)) continue;
        const path = join(directory, entry.name);
        if (entry.isDirectory()) walk(path);
        else if (entry.isFile()) this.#look(pathToFileURL(path).href);
      }
    };
    walk(fileURLToPath(this.#root));
  }
}
