import type { TextDocumentSyncKind } from "vscode-languageserver-protocol";
import type { Run } from "../session/types.ts";
import { changesBetween } from "./delta.ts";
import type { IndexedText } from "./text.ts";
import type { Document } from "./types.ts";
import type { Wire } from "./wire.ts";

/** A name that is used for one text alone, so that what is said of it is of that text. */
export interface Shot {
  readonly uri: string;
  readonly textVersion: number;
  /** Number of the message that opened it. */
  readonly openedAt: number;
  /** Run.failures before it was opened. */
  readonly failures: number;
}

/** A document as it is now. Only Documents changes it. */
export interface Open {
  readonly path: string;
  readonly uri: string;
  readonly languageId: string;
  /** Never given twice in a run, whatever the document. */
  readonly version: number;
  /** Number of the message that told the version. */
  readonly toldAt: number;
  /** First version of the text that is shown now, and the number of its message: later ones only told it again. */
  readonly textVersion: number;
  readonly changedAt: number;
  /** What it holds at the synced state; undefined for one that is open only to be tried. */
  readonly base: IndexedText | undefined;
  /** Whether `base` was read from disk because the tree has nothing there. */
  readonly fromDisk: boolean;
  /** What the server believes: `base`, or what is tried; undefined while it is closed there. */
  readonly shown: IndexedText | undefined;
  /** The text that is shown, open once more under a name of its own. */
  readonly shot: Shot | undefined;
  /** Turn of its last use. */
  readonly used: number;
}

type Changing = { -readonly [K in keyof Open]: Open[K] };

/** What a server wants to be told of documents. */
interface Wants {
  readonly openClose: boolean;
  readonly change: TextDocumentSyncKind;
  readonly save: boolean;
  readonly includeText: boolean;
}

/** What documents are made from. */
export interface DocumentsParts {
  readonly wire: Wire;
  readonly uriOf: (path: string) => string;
  readonly languageId: (path: string) => string;
}

/** The open documents. A state is changed in the same step as its message is sent, so that it is always what the server believes once it has read so far. */
export class Documents {
  readonly #parts: DocumentsParts;
  readonly #open = new Map<string, Changing>();
  /** Paths by the name of their shot. */
  readonly #shots = new Map<string, string>();
  #version = 0;
  #turn = 0;
  #lastChange = 0;

  constructor(parts: DocumentsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Number of the last message that changed what the server knows of any file's content; opening one as it is does not. */
  get lastChange(): number {
    return this.#lastChange;
  }

  /** Counts uses: what was used since is newer. */
  get turn(): number {
    return this.#turn;
  }

  /** Whether the server is told of texts at all. */
  get tells(): boolean {
    return this.#wants().openClose;
  }

  get(path: string): Open | undefined {
    return this.#open.get(path);
  }

  all(): readonly Open[] {
    return [...this.#open.values()];
  }

  /** The document as its user gets it. Undefined while it is closed at the server. */
  use(path: string): Document | undefined {
    const open = this.#open.get(path);
    if (open?.shown === undefined) return undefined;
    this.#turn += 1;
    open.used = this.#turn;
    const { uri, languageId, version, shown } = open;
    return { path, uri, languageId, version, text: shown };
  }

  /** Those that are open at the server; that they were looked at is no use of them. */
  shown(): Map<string, Document> {
    const found = new Map<string, Document>();
    for (const { path, uri, languageId, version, shown } of this.#open.values()) {
      if (shown !== undefined) found.set(path, { path, uri, languageId, version, text: shown });
    }
    return found;
  }

  /** Opens a document at its content. */
  add(path: string, base: IndexedText, fromDisk: boolean): Promise<void> {
    return this.#tell(this.#entry(path, base, fromDisk), base);
  }

  /** Sets what a document holds at the synced state and, unless something else is tried, tells it; undefined closes it and forgets it. */
  rebase(path: string, base: IndexedText | undefined, fromDisk: boolean, tried: boolean): Promise<void> {
    const open = this.#open.get(path);
    if (open === undefined) return Promise.resolve();
    open.base = base;
    open.fromDisk = fromDisk;
    if (tried) return Promise.resolve();
    const changed = open.shown?.sha256 !== base?.sha256;
    const told = this.#tell(open, base);
    if (base === undefined) this.#open.delete(path);
    else if (changed) return Promise.all([told, this.#saved(open)]).then(() => {});
    return told;
  }

  /** Shows a text that is only tried, or closes the document for that. */
  try(path: string, text: IndexedText | undefined): Promise<void> {
    const open = this.#open.get(path) ?? (text === undefined ? undefined : this.#entry(path, undefined, false));
    if (open === undefined) return Promise.resolve();
    const told = this.#tell(open, text);
    this.noteChange();
    return told;
  }

  /** Puts back what was tried. */
  revert(path: string, writeMs: number): Promise<void> {
    const open = this.#open.get(path);
    if (open === undefined) return Promise.resolve();
    const told = this.#tell(open, open.base, writeMs);
    this.noteChange();
    if (open.base === undefined) this.#open.delete(path);
    return told;
  }

  /** Shows the text by a name of its own; unless it is to be done `again`, only when that is not done already or something changed since. */
  shoot(path: string, again: boolean): Promise<void> {
    const open = this.#open.get(path);
    if (open?.shown === undefined || !this.#wants().openClose) return Promise.resolve();
    if (!again && open.shot !== undefined && open.shot.openedAt >= this.#lastChange) return Promise.resolve();
    const closed = this.drop(path);
    this.#version += 1;
    const { wire } = this.#parts;
    const { languageId, shown, textVersion } = open;
    // Servers that match names by patterns look at a name's end.
    const uri = `${open.uri}#${this.#version}${new URL(open.uri).pathname}`;
    const { failures } = wire;
    const textDocument = { uri, languageId, version: this.#version, text: shown.body };
    const opened = wire.notify("textDocument/didOpen", { textDocument });
    open.shot = { uri, textVersion, openedAt: wire.sent, failures };
    this.#shots.set(uri, path);
    return Promise.all([closed, opened]).then(() => {});
  }

  /** The document whose shot has this name. */
  ofShot(uri: string): Open | undefined {
    const path = this.#shots.get(uri);
    return path === undefined ? undefined : this.#open.get(path);
  }

  /** Closes a document's shot. */
  drop(path: string, writeMs?: number): Promise<void> {
    const open = this.#open.get(path);
    if (open?.shot === undefined) return Promise.resolve();
    const { uri } = open.shot;
    open.shot = undefined;
    this.#shots.delete(uri);
    return this.#parts.wire.notify("textDocument/didClose", { textDocument: { uri } }, writeMs);
  }

  /** Tells a text once more. */
  nudge(path: string): Promise<void> {
    const open = this.#open.get(path);
    const { openClose, change } = this.#wants();
    if (open?.shown === undefined || !openClose) return Promise.resolve();
    this.#version += 1;
    open.version = this.#version;
    const { uri, version, shown, languageId } = open;
    const text = shown.body;
    const { wire } = this.#parts;
    const sends =
      change === 0
        ? [
            wire.notify("textDocument/didClose", { textDocument: { uri } }),
            wire.notify("textDocument/didOpen", { textDocument: { uri, languageId, version, text } }),
          ]
        : // clangd looks again only when it is told to; the others know no such field.
          [
            wire.notify("textDocument/didChange", {
              textDocument: { uri, version },
              contentChanges: [{ text }],
              forceRebuild: true,
            }),
          ];
    open.toldAt = wire.sent;
    return Promise.all(sends).then(() => {});
  }

  /** Closes a document because others are needed more. */
  close(path: string): Promise<void> {
    const open = this.#open.get(path);
    if (open === undefined) return Promise.resolve();
    const told = this.#tell(open, undefined);
    this.#open.delete(path);
    return told;
  }

  /** The message sent last changed what the server knows. */
  noteChange(): void {
    this.#lastChange = this.#parts.wire.sent;
  }

  #entry(path: string, base: IndexedText | undefined, fromDisk: boolean): Changing {
    const { uriOf, languageId } = this.#parts;
    const open = { path, uri: uriOf(path), languageId: languageId(path), base, fromDisk };
    const entry: Changing = {
      ...open,
      version: 0,
      toldAt: 0,
      textVersion: 0,
      changedAt: 0,
      shown: undefined,
      shot: undefined,
      used: this.#turn,
    };
    this.#open.set(path, entry);
    return entry;
  }

  #tell(open: Changing, text: IndexedText | undefined, writeMs?: number): Promise<void> {
    const { wire } = this.#parts;
    const { shown, uri } = open;
    open.shown = text;
    if (shown?.sha256 === text?.sha256) return Promise.resolve();
    const sends: Promise<void>[] = open.shot === undefined ? [] : [this.drop(open.path, writeMs)];
    const wants = this.#wants();
    if (text !== undefined) {
      this.#version += 1;
      open.version = this.#version;
    }
    if (wants.openClose) {
      const change = shown !== undefined && text !== undefined && wants.change !== 0;
      if (shown !== undefined && !change) sends.push(wire.notify("textDocument/didClose", { textDocument: { uri } }, writeMs));
      if (change) {
        const contentChanges = changesBetween(shown, text, wants.change, wire.encoding);
        const textDocument = { uri, version: open.version };
        sends.push(wire.notify("textDocument/didChange", { textDocument, contentChanges }, writeMs));
      } else if (text !== undefined) {
        const textDocument = { uri, languageId: open.languageId, version: open.version, text: text.body };
        sends.push(wire.notify("textDocument/didOpen", { textDocument }, writeMs));
      }
    }
    open.textVersion = open.version;
    open.changedAt = wire.sent;
    open.toldAt = wire.sent;
    if (shown !== undefined && text !== undefined) this.noteChange();
    return sends.length === 1 && sends[0] !== undefined ? sends[0] : Promise.all(sends).then(() => {});
  }

  #saved({ uri, shown }: Open): Promise<void> {
    const { save, includeText, openClose } = this.#wants();
    if (!save || !openClose || shown === undefined) return Promise.resolve();
    const text = includeText ? { text: shown.body } : {};
    return this.#parts.wire.notify("textDocument/didSave", { textDocument: { uri }, ...text });
  }

  #wants(): Wants {
    return wantsOf(this.#parts.wire);
  }
}

function wantsOf(run: Run): Wants {
  const given = run.capabilities.textDocumentSync;
  const later = run.registered("textDocument/didSave").at(-1);
  if (typeof given === "number") return { openClose: given !== 0, change: given, ...savesOf(later ?? given !== 0) };
  const openClose = given?.openClose === true || run.registered("textDocument/didOpen").length > 0;
  const registered = run.registered("textDocument/didChange").at(-1);
  const change = isObject(registered) && typeof registered["syncKind"] === "number" ? registered["syncKind"] : given?.change;
  return { openClose, change: change === 1 || change === 2 ? change : 0, ...savesOf(later ?? given?.save) };
}

function savesOf(save: unknown): { readonly save: boolean; readonly includeText: boolean } {
  return { save: save === true || isObject(save), includeText: isObject(save) && save["includeText"] === true };
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
