import { createHash } from "node:crypto";
import type { ServerCapabilities, TextDocumentContentChangeEvent } from "vscode-languageserver-protocol";
import { type Clock, GinError, systemClock } from "../../../src/daemon/base/index.ts";
import { createMirror } from "../../../src/daemon/lsp/mirror/mirror.ts";
import type { Mirror, MirrorParts } from "../../../src/daemon/lsp/mirror/types.ts";
import type { Deadline, Encoding, Run } from "../../../src/daemon/lsp/session/types.ts";
import type { LspWorkspace } from "../../../src/daemon/lsp/types.ts";
import type { TreeDifference } from "../../../src/daemon/store/index.ts";
import type { State } from "../../../src/daemon/workspace/index.ts";

export const sha = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** A deadline far away, or one that its signal ends. */
export const later = (signal: AbortSignal = new AbortController().signal): Deadline => ({
  atMs: systemClock.monotonicMs() + 20_000,
  signal,
});

/** A promise and its end. */
export function held(): { readonly promise: Promise<void>; readonly release: () => void } {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

/** A clock that moves only when it is told to. */
export class SteppedClock implements Clock {
  #now = 1_000;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  wallMs = () => this.#now;
  monotonicMs = () => this.#now;
  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
  /** Moves on, and calls what is due in its order. */
  step(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)) {
      if (this.#timers.delete(timer)) timer.callback();
    }
  }
  get waiting(): number {
    return this.#timers.size;
  }
  deadline(ms: number, signal: AbortSignal = new AbortController().signal): Deadline {
    return { atMs: this.#now + ms, signal };
  }
}

type Tree = ReadonlyMap<string, Buffer>;

/** A workspace in memory: what is on its disk, and what of it was recorded. */
export class FakeWorkspace implements LspWorkspace {
  readonly rowid = 1;
  readonly id = "ws_1";
  readonly root = "/w/tree";
  readonly trusted = true;
  readonly disk = new Map<string, Buffer>();
  /** Paths that begin so are never recorded. */
  ignored = "ignored/";
  /** Contents the store does not give. */
  readonly unkept = new Set<string>();
  /** Awaited by each settle before it looks. */
  beforeSettle: () => Promise<void> = async () => {};
  /** Awaited by each read after it looked. */
  afterRead: (path: string) => Promise<void> = async () => {};
  settles = 0;
  #generation = 0;
  readonly #trees = new Map<string, Tree>([["", new Map()]]);
  #tree = "";
  readonly #listeners = new Set<(state: State) => void>();

  write(path: string, content: string | Uint8Array): void {
    this.disk.set(path, Buffer.from(content));
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
    const tree = new Map([...this.disk].filter(([path]) => !path.startsWith(this.ignored)).sort());
    const hash = sha(JSON.stringify([...tree].map(([path, bytes]) => [path, sha(bytes)])));
    if (hash === this.#tree) return;
    this.#trees.set(hash, tree);
    this.#tree = hash;
    this.#generation += 1;
    for (const listener of this.#listeners) listener(this.#state());
  }
  #state(): State {
    return { incarnation: "in_1", generation: this.#generation, epoch: 1, head: "ck_1" };
  }
  /** What a server finds at a path: what is recorded, though more may stand on disk, as nobody can know of what came and went unseen. */
  seen(path: string): Buffer | undefined {
    return path.startsWith(this.ignored) ? this.disk.get(path) : this.#of(this.#tree).get(path);
  }
  tree = () => this.#tree;
  /** Gives a tree up, as gc does. */
  forget(tree: string): void {
    this.#trees.delete(tree);
  }
  #of(tree: string): Tree {
    const found = this.#trees.get(tree);
    if (found === undefined) throw new GinError("HISTORY_TRIMMED", "that tree is gone");
    return found;
  }
  *changes(from: string, to: string): Generator<TreeDifference> {
    const [before, after] = [this.#of(from), this.#of(to)];
    const state = (bytes: Buffer | undefined) =>
      bytes === undefined ? null : { kind: "file" as const, sha256: sha(bytes), size: bytes.length, executable: false };
    for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
      const [was, is] = [state(before.get(path)), state(after.get(path))];
      if (was?.sha256 !== is?.sha256) yield { path, before: was, after: is };
    }
  }
  hashAt(tree: string, path: string): string | undefined {
    const bytes = this.#of(tree).get(path);
    return bytes === undefined ? undefined : sha(bytes);
  }
  *files(tree: string, prefix: string): Generator<string> {
    for (const path of this.#of(tree).keys()) if (path.startsWith(prefix)) yield path;
  }
  bytes(sha256: string): Uint8Array | undefined {
    if (this.unkept.has(sha256)) return undefined;
    for (const tree of this.#trees.values()) for (const bytes of tree.values()) if (sha(bytes) === sha256) return bytes;
    return undefined;
  }
  async read(path: string) {
    const bytes = this.disk.get(path);
    await this.afterRead(path);
    if (bytes === undefined) throw new GinError("PATH_NOT_FOUND", `nothing is at ${path}`, undefined, { facts: { path } });
    return { path, sha256: sha(bytes), bytes };
  }
  canonical = (path: string) => path;
  scope = (run: () => void) => run();
  touched = () => [];
  onChange(listener: (state: State) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Offset of an LSP position, counted by walking: not the way the mirror does. */
function walk(text: string, line: number, character: number, encoding: Encoding): number {
  let [offset, at] = [0, 0];
  while (at < line) {
    const end = /\r\n?|\n/g;
    end.lastIndex = offset;
    const found = end.exec(text);
    if (found === null) throw new Error(`no line ${line}`);
    offset = found.index + found[0].length;
    at += 1;
  }
  let units = 0;
  for (const one of text.slice(offset)) {
    if (units === character) break;
    units += encoding === "utf-8" ? Buffer.byteLength(one) : encoding === "utf-16" ? one.length : 1;
    offset += one.length;
  }
  if (units !== character) throw new Error(`no character ${character} in line ${line}`);
  return offset;
}

/** A message as a server got it. */
export interface Sent {
  readonly method: string;
  readonly params: never;
}

interface Watchers {
  readonly watchers: readonly { readonly globPattern: unknown; readonly kind?: number }[];
}

/** A server in this process: it keeps what it is told, and reads the disk only when it is told that a file changed. */
export class FakeRun implements Run {
  readonly number = 1;
  encoding: Encoding = "utf-16";
  capabilities: ServerCapabilities = { textDocumentSync: { openClose: true, change: 2 } };
  readonly info = { name: "fake", version: "1" };
  failures = 0;
  readonly doubtful = false;
  readonly ended = new Promise<void>(() => {});
  readonly sent: { readonly method: string; readonly params: unknown }[] = [];
  readonly documents = new Map<string, { text: string; version: number }>();
  /** What it last saw of files that are not open. */
  readonly files = new Map<string, string>();
  watchers: Watchers[] = [];
  /** What a notification's write does; default: done. */
  writing: (method: string) => Promise<void> = async () => {};
  answer: (method: string, params: unknown) => Promise<unknown> = async () => null;
  readonly #workspace: FakeWorkspace;
  readonly #listeners = new Map<string, Set<(params: unknown) => void>>();

  constructor(workspace: FakeWorkspace) {
    this.#workspace = workspace;
    this.readAll();
  }
  /** Looks at every file, as a server does that starts. */
  readAll(): void {
    this.files.clear();
    for (const [path, bytes] of this.#workspace.disk) this.files.set(path, bytes.toString());
  }
  methods = () => this.sent.map(({ method }) => method);
  /** What was sent by a method, and nothing of it is given twice. */
  take(method: string): never[] {
    const found = this.sent.filter((message) => message.method === method);
    this.sent.splice(0, this.sent.length, ...this.sent.filter((message) => message.method !== method));
    return found.map(({ params }) => params as never);
  }
  async request(method: string, params: unknown): Promise<unknown> {
    this.sent.push({ method, params });
    return this.answer(method, params);
  }
  notify(method: string, params: unknown): Promise<void> {
    this.sent.push({ method, params });
    this.#apply(method, params as never);
    return this.writing(method);
  }
  on(method: string, listener: (params: unknown) => void): () => void {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener));
    return () => listeners.delete(listener);
  }
  say(method: string, params: unknown): void {
    for (const listener of this.#listeners.get(method) ?? []) listener(params);
  }
  registered(method: string): readonly unknown[] {
    return method === "workspace/didChangeWatchedFiles" ? this.watchers : [];
  }
  progress = () => [];

  #apply(method: string, params: { textDocument: { uri: string; version: number; text: string } } & Record<string, never>): void {
    const { uri = "", version = 0, text = "" } = params.textDocument ?? {};
    const open = this.documents.get(uri);
    if (method === "textDocument/didOpen") {
      if (open !== undefined) throw new Error(`${uri} is open`);
      this.documents.set(uri, { text, version });
    } else if (method === "textDocument/didClose") {
      if (!this.documents.delete(uri)) throw new Error(`${uri} is not open`);
      this.#look(uri);
    } else if (method === "textDocument/didChange") {
      if (open === undefined || version <= open.version) throw new Error(`${uri} cannot be changed`);
      for (const change of params["contentChanges"] as unknown as TextDocumentContentChangeEvent[])
        open.text = this.#changed(open.text, change);
      open.version = version;
    } else if (method === "workspace/didChangeWatchedFiles") {
      for (const change of params["changes"] as unknown as { uri: string }[]) this.#look(change.uri);
    }
  }
  #changed(text: string, change: TextDocumentContentChangeEvent): string {
    if (!("range" in change)) return change.text;
    const { start, end } = change.range;
    const [from, to] = [start, end].map(({ line, character }) => walk(text, line, character, this.encoding));
    return text.slice(0, from) + change.text + text.slice(to);
  }
  #look(uri: string): void {
    const path = decodeURIComponent(uri).slice("file:///w/tree/".length);
    const bytes = this.#workspace.seen(path);
    if (bytes === undefined) this.files.delete(path);
    else this.files.set(path, bytes.toString());
  }
}

/** A mirror of a workspace with some files, and what it stands between. */
export interface Site {
  readonly workspace: FakeWorkspace;
  readonly run: FakeRun;
  readonly mirror: Mirror;
  /** Why the run was to be ended. */
  readonly stopped: string[];
}

export function mirrorSite(
  files: Readonly<Record<string, string>> = {},
  parts: Partial<MirrorParts> = {},
  set?: (run: FakeRun) => void,
): Site {
  const workspace = new FakeWorkspace();
  for (const [path, content] of Object.entries(files)) workspace.write(path, content);
  workspace.record();
  const run = new FakeRun(workspace);
  set?.(run);
  const stopped: string[] = [];
  const mirror = createMirror({
    run,
    workspace,
    clock: systemClock,
    server: "fake",
    since: workspace.tree(),
    languageId: (path) => (path.endsWith(".ts") ? "typescript" : "plaintext"),
    stop: (why) => stopped.push(why),
    ...parts,
  });
  return { workspace, run, mirror, stopped };
}
