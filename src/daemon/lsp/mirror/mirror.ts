import { GinError } from "../../base/index.ts";
import type { Deadline } from "../session/types.ts";
import { Contents, ifText } from "./contents.ts";
import { Documents, type Open } from "./documents.ts";
import { Gate } from "./gate.ts";
import { MIRROR_LIMITS } from "./limits.ts";
import { type Marks, marksOf } from "./marks.ts";
import { Overlay } from "./overlay.ts";
import { Pushes } from "./pushed.ts";
import { Sync } from "./sync.ts";
import type { IndexedText } from "./text.ts";
import type { Document, Mirror, MirrorLimits, MirrorParts } from "./types.ts";
import { createUris, type Uris } from "./uri.ts";
import { Watched } from "./watched.ts";
import { BARRIER, Wire } from "./wire.ts";
import { type Bound, notReady, within } from "./within.ts";

/** Makes the mirror of a run that has just been initialised; one a run. `close` when the run ends. */
export function createMirror(parts: MirrorParts): Mirror {
  return new RunMirror(parts);
}

/** Resolved URIs kept until the next sync. */
const PATHS_KEPT = 20_000;

/** Milliseconds a server may take to show that it has read what it was sent. */
const BARRIER_MS = 10_000;

class RunMirror implements Mirror {
  readonly run: Wire;
  readonly workspace;
  readonly beside: boolean;
  readonly #limits: MirrorLimits;
  readonly #bound: Bound;
  readonly #marks: Marks;
  readonly #uris: Uris;
  readonly #documents: Documents;
  readonly #contents: Contents;
  readonly #overlay: Overlay;
  readonly #sync: Sync;
  readonly #pushes: Pushes;
  readonly #gate: Gate;
  /** Turns of documents when the shared work under way began. */
  readonly #began = new Set<{ readonly turn: number }>();
  /** Walks of URIs since the last sync: a list of references names few files many times. */
  readonly #paths = new Map<string, string | undefined>();
  /** Ignored files read since the last sync. */
  readonly #unrecorded = new Map<string, Promise<IndexedText | undefined>>();
  /** Texts as a server counts in them that read them itself. */
  readonly #asRead = new WeakMap<IndexedText, IndexedText>();
  #closed = false;

  constructor(parts: MirrorParts) {
    const {
      run,
      workspace,
      clock,
      server,
      since,
      languageId,
      stop,
      dependencies,
      folder = "",
      aliases = [],
      beside = false,
      limits = {},
    } = parts;
    this.workspace = workspace;
    this.beside = beside;
    this.#limits = { ...MIRROR_LIMITS, ...limits };
    this.#bound = { clock, server };
    this.#marks = marksOf(server);
    this.run = new Wire({ ...this.#bound, run, stop, writeMs: this.#limits.writeMs });
    // What is recorded stands under its canonical path: only others have to be walked, which takes longer than all else about a list of places.
    const canonical = (path: string): string => (this.#hashNow(path) === undefined ? workspace.canonical(path) : path);
    this.#uris = createUris({ root: workspace.root, aliases, canonical });
    this.#documents = new Documents({ wire: this.run, uriOf: this.#uris.uriOf, languageId });
    this.#contents = new Contents(workspace, server, this.#marks, this.#limits.cached);
    const watched = new Watched({ run, uris: this.#uris, folder, keep: this.#limits.unmatched });
    const shared = {
      ...this.#bound,
      documents: this.#documents,
      contents: this.#contents,
      watched,
      stop: (why: string) => this.run.breakOff(why),
    };
    this.#overlay = new Overlay({
      ...shared,
      sync: () => this.#sync,
      hashAt: (path) => this.#hashNow(path),
      marks: this.#marks,
      revertMs: this.#limits.revertMs,
    });
    this.#sync = new Sync({
      ...shared,
      workspace,
      wire: this.run,
      uris: this.#uris,
      since,
      dependencies,
      events: this.#limits.events,
      tried: (path) => this.#overlay.at(path),
    });
    this.#pushes = new Pushes({
      wire: this.run,
      documents: this.#documents,
      uris: this.#uris,
      beside,
      barrier: () => this.#barrier(),
    });
    this.#gate = new Gate(this.#bound);
  }

  get told() {
    return this.#sync.told;
  }

  get opened() {
    return this.#documents.size;
  }

  async sync(deadline: Deadline) {
    this.#mustBeOpen();
    const told = await this.#sync.run(deadline);
    this.#paths.clear();
    this.#unrecorded.clear();
    return told;
  }

  async open(path: string, deadline: Deadline): Promise<Document> {
    this.#mustBeOpen();
    if (this.told === undefined) await this.sync(deadline);
    let over = false;
    const opening = () => this.#open(path, deadline.signal, () => over);
    return within(this.#bound, deadline, `opening ${path}`, opening).finally(() => {
      over = true;
    });
  }

  async #open(path: string, signal: AbortSignal, over: () => boolean): Promise<Document> {
    for (;;) {
      const open = this.#documents.use(path);
      if (open !== undefined) return open;
      if (this.#overlay.at(path) === null) throw new GinError("PATH_NOT_FOUND", `${path} is not there while the edits are tried`);
      const { told } = this;
      if (told === undefined || over()) throw notReady(this.#bound.server, "changing", `${path} is being changed`);
      const { text, fromDisk } = await this.#contents.load(told.tree, path, signal);
      // What was read may be of a state from before a sync that came meanwhile.
      const same = told === this.told || (!fromDisk && this.#hashNow(path) === text.sha256);
      if (!same || over() || this.#documents.get(path) !== undefined) continue;
      const sent = this.#documents.add(path, text, fromDisk);
      const document = this.#documents.use(path);
      await sent;
      if (document !== undefined) return document;
    }
  }

  documents(): ReadonlyMap<string, Document> {
    return this.#documents.shown();
  }

  async trim(keep: ReadonlySet<string>): Promise<void> {
    // What another question has opened since it began is its own until it ends. With one alone, that is the one that trims.
    const oldest = this.#began.size > 1 ? Math.min(...[...this.#began].map(({ turn }) => turn)) : Number.POSITIVE_INFINITY;
    const spare = this.#documents
      .all()
      .filter(({ path, used }) => !keep.has(path) && used <= oldest && this.#overlay.at(path) === undefined)
      .sort((a, b) => a.used - b.used);
    let count = this.#documents.size;
    let characters = this.#documents.all().reduce((sum, open) => sum + charactersOf(open), 0);
    const closing: string[] = [];
    for (const open of spare) {
      if (count <= this.#limits.documents && characters <= this.#limits.characters) break;
      closing.push(open.path);
      count -= 1;
      characters -= charactersOf(open);
    }
    await Promise.all(closing.map((path) => this.#documents.close(path)));
  }

  async text(path: string): Promise<IndexedText | undefined> {
    const text = await this.#textOf(path);
    const told = this.#documents.get(path)?.shown !== undefined;
    if (text?.marked !== true || told || this.#marks !== "mixed") return text;
    const known = this.#asRead.get(text) ?? text.asRead();
    this.#asRead.set(text, known);
    return known;
  }

  async #textOf(path: string): Promise<IndexedText | undefined> {
    const tried = this.#overlay.at(path);
    if (tried !== undefined) return tried ?? undefined;
    const open = this.#documents.get(path);
    if (open?.shown !== undefined) return open.shown;
    const { told } = this;
    if (told === undefined) throw notReady(this.#bound.server, "starting", "the language server was told nothing yet");
    const loading = () => ifText(this.#contents.load(told.tree, path).then(({ text }) => text));
    if (this.#hashNow(path) !== undefined) return loading();
    const known = this.#unrecorded.get(path);
    if (known !== undefined) return known;
    const read = loading();
    this.#unrecorded.set(path, read);
    return read;
  }

  pathOf(uri: string): string | undefined {
    if (this.#paths.has(uri)) return this.#paths.get(uri);
    const path = this.#uris.pathOf(uri);
    if (this.#paths.size < PATHS_KEPT) this.#paths.set(uri, path);
    return path;
  }

  uriOf(path: string): string {
    return this.#uris.uriOf(path);
  }

  async shared<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    const leave = await this.#gate.enter("shared", deadline);
    const mine = { turn: this.#documents.turn };
    this.#began.add(mine);
    try {
      return await within(this.#bound, deadline, "the question", work);
    } finally {
      this.#began.delete(mine);
      leave();
      if (this.#began.size === 0) this.#trimLater();
    }
  }

  async overlaid<T>(
    edits: ReadonlyMap<string, string | null>,
    deadline: Deadline,
    work: (documents: ReadonlyMap<string, Document>) => Promise<T>,
  ): Promise<T> {
    this.#mustBeOpen();
    const leave = await this.#gate.enter("exclusive", deadline);
    try {
      if (this.told === undefined) await this.sync(deadline);
      return await this.#overlay.during(edits, deadline, work);
    } finally {
      leave();
    }
  }

  pushed(uri: string) {
    return this.#pushes.of(uri);
  }

  async nudge(path: string, again = false): Promise<void> {
    this.#mustBeOpen();
    await (this.beside ? this.#documents.shoot(path, again) : this.#documents.nudge(path));
  }

  onPushed(listener: (uri: string) => void): () => void {
    return this.#pushes.on(listener);
  }

  close(): void {
    this.#closed = true;
    this.#sync.close();
    this.#pushes.close();
  }

  /** No question waits for it, and none can be hurt: what cannot be written is a run that has ended, which the next one hears of. */
  #trimLater(): void {
    this.trim(new Set()).catch(() => {});
  }

  async #barrier(): Promise<boolean> {
    const { sent } = this.run;
    const atMs = this.#bound.clock.monotonicMs() + BARRIER_MS;
    await this.run.request(BARRIER, {}, { atMs, signal: new AbortController().signal }).catch(() => {});
    return this.run.answered > sent;
  }

  #hashNow(path: string): string | undefined {
    return this.told === undefined ? undefined : this.workspace.hashAt(this.told.tree, path);
  }

  #mustBeOpen(): void {
    this.run.mustHold();
    if (this.#closed) throw notReady(this.#bound.server, "crashed", "the language server has ended");
  }
}

function charactersOf({ shown, base }: Open): number {
  return (shown ?? base)?.text.length ?? 0;
}
