import { GinError, Pace } from "../../base/index.ts";
import type { Deadline } from "../session/types.ts";
import type { LspWorkspace } from "../types.ts";
import { type Contents, ifText, type Loaded } from "./contents.ts";
import type { Documents, Open } from "./documents.ts";
import { Trail } from "./trail.ts";
import type { Dependencies, Synced } from "./types.ts";
import type { Uris } from "./uri.ts";
import { type FileEvent, WATCHED, type Watched } from "./watched.ts";
import type { Wire } from "./wire.ts";
import { type Bound, notReady, within } from "./within.ts";

/** What syncing is made from. */
export interface SyncParts extends Bound {
  readonly workspace: LspWorkspace;
  readonly wire: Wire;
  readonly uris: Uris;
  readonly documents: Documents;
  readonly contents: Contents;
  readonly watched: Watched;
  readonly stop: (why: string) => void;
  readonly dependencies: Dependencies | undefined;
  /** Tree from before the server's start. */
  readonly since: string;
  /** File events in a message. */
  readonly events: number;
  /** What is tried in place of a path's content now; null for its absence, undefined for nothing. */
  readonly tried: (path: string) => unknown;
}

/** One settling and telling, for all who asked before it began. */
class Batch {
  readonly abort = new AbortController();
  readonly done: Promise<Synced>;
  waiting = 0;
  over = false;
  resolve: (synced: Synced) => void = () => {};
  reject: (error: unknown) => void = () => {};

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** What an open document is to hold; undefined closes it. */
type Plan = Map<Open, Loaded | undefined>;

/** Tells the server what changed. One batch runs at a time; who comes while it does waits for the next, as what changed since may not be in it. */
export class Sync {
  readonly #parts: SyncParts;
  readonly #unhear: () => void;
  #running: Batch | undefined;
  #next: Batch | undefined;
  readonly #trail: Trail;
  /** Where the trail went could not be followed. */
  #lost = false;
  #told: Synced | undefined;
  #generation = 0;

  constructor(parts: SyncParts) {
    this.#parts = parts;
    this.#trail = new Trail(parts.workspace, parts.since);
    this.#unhear = parts.workspace.onChange(({ generation }) => {
      this.#generation = generation;
      this.#follow();
    });
  }

  get told(): Synced | undefined {
    return this.#told;
  }

  /** See Mirror.sync. */
  async run(deadline: Deadline): Promise<Synced> {
    let batch: Batch | undefined;
    try {
      return await within(this.#parts, deadline, "telling the language server what changed", () => {
        batch = this.#next ?? this.#another();
        batch.waiting += 1;
        return batch.done;
      });
    } finally {
      if (batch !== undefined) this.#leave(batch);
    }
  }

  close(): void {
    this.#unhear();
    // Nobody who waits for it gave up: it is the server that is no more.
    const running = this.#running;
    running?.reject(notReady(this.#parts.server, "crashed", "the language server has ended"));
    running?.abort.abort();
  }

  /** When nobody wants a batch any more it is given up, and who comes then must not get that one. */
  #leave(batch: Batch): void {
    batch.waiting -= 1;
    if (batch.waiting > 0 || batch.over) return;
    batch.abort.abort();
    if (this.#next === batch) this.#next = undefined;
  }

  #another(): Batch {
    this.#next = new Batch();
    // Not at once: who asks in the same step shares it.
    if (this.#running === undefined) queueMicrotask(() => this.#begin());
    return this.#next;
  }

  #begin(): void {
    const batch = this.#next;
    if (batch === undefined || this.#running !== undefined) return;
    this.#next = undefined;
    this.#running = batch;
    const end = () => {
      batch.over = true;
      this.#running = undefined;
      this.#begin();
    };
    // Its end comes before its outcome, so that who hears of that finds the place free.
    void this.#settleAndTell(batch.abort.signal).finally(end).then(batch.resolve, batch.reject);
  }

  async #settleAndTell(signal: AbortSignal): Promise<Synced> {
    const { workspace } = this.#parts;
    const settled = await workspace.settle(signal);
    this.#lookAtDependencies();
    // The head may have moved on since: the listener knows how far, and the tree is the one of now.
    this.#generation = Math.max(this.#generation, settled.generation);
    const target: Synced = { generation: this.#generation, tree: workspace.tree() };
    this.#follow();
    if (this.#lost) this.#fellBehind();
    const reach = this.#trail.hold(target.tree);
    try {
      const events = await this.#events(reach, signal);
      const plan = await this.#plan(target.tree, signal);
      const sends = this.#tell(target, events, plan);
      this.#trail.told(reach);
      await Promise.all(sends);
    } finally {
      this.#trail.release();
    }
    return target;
  }

  /** The head moved: whoever tells us is not to be hurt by what we cannot follow. */
  #follow(): void {
    if (this.#lost) return;
    try {
      this.#trail.add(this.#parts.workspace.tree());
    } catch {
      this.#lost = true;
    }
  }

  #lookAtDependencies(): void {
    const { dependencies, stop, server } = this.#parts;
    const [marker] = dependencies?.look() ?? [];
    if (marker === undefined) return;
    stop(`dependencies changed (${marker})`);
    throw notReady(server, "starting", `the language server is started again, as dependencies changed (${marker})`);
  }

  /** What is different on disk from what was told. */
  async #events(reach: number, signal: AbortSignal): Promise<FileEvent[]> {
    const { clock } = this.#parts;
    const events: FileEvent[] = [];
    const pace = new Pace(clock, signal);
    try {
      for (const event of this.#trail.events(reach)) {
        await pace.next();
        events.push(event);
      }
    } catch (thrown) {
      if (thrown instanceof GinError && thrown.reason === "CANCELLED") throw thrown;
      this.#fellBehind();
    }
    return events;
  }

  /** A tree is not kept any more: only a fresh start knows the files now. */
  #fellBehind(): never {
    const { server, stop } = this.#parts;
    stop("what changed since it was told cannot be found out any more");
    throw notReady(server, "crashed", "the language server is started again, as it fell too far behind");
  }

  /** What every open document is to hold. Others may be opened meanwhile, at the state told before: they are looked at as well. */
  async #plan(tree: string, signal: AbortSignal): Promise<Plan> {
    const { documents } = this.#parts;
    const plan: Plan = new Map();
    for (;;) {
      const asTold = tree === this.#told?.tree;
      const left = documents.all().filter((open) => open.base !== undefined && !plan.has(open) && (open.fromDisk || !asTold));
      if (left.length === 0) return plan;
      for (const open of left) plan.set(open, await this.#planOf(open, tree, signal));
    }
  }

  async #planOf({ path, base, fromDisk }: Open, tree: string, signal: AbortSignal): Promise<Loaded | undefined> {
    const { contents, workspace } = this.#parts;
    if (!fromDisk && base !== undefined) {
      const hash = workspace.hashAt(tree, path);
      if (hash === undefined) return undefined;
      if (hash === base.sha256) return { text: base, fromDisk: false };
    }
    return unlessMoving(ifText(contents.load(tree, path, signal)));
  }

  /** All in one step: nothing that others send comes between. */
  #tell(target: Synced, found: readonly FileEvent[], plan: Plan): Promise<void>[] {
    const { documents, tried, watched, stop, server } = this.#parts;
    const extra: FileEvent[] = [];
    for (const [{ path, fromDisk, base }, loaded] of plan) {
      // Ignored files are in no tree: their events are ours to make.
      if (fromDisk && loaded?.text.sha256 !== base?.sha256) extra.push({ path, type: loaded === undefined ? 3 : 2 });
    }
    const known = new Set(found.map(({ path }) => path));
    // That a file is there is not said while its absence is tried: putting it back says it.
    const all = [...found, ...extra.filter(({ path }) => !known.has(path))];
    const events = watched.take(all, ({ path, type }) => type !== 3 && tried(path) === null);
    if (events === "lost") {
      stop("it registered what it watches after too much had changed");
      throw notReady(server, "crashed", "the language server is started again, as it fell too far behind");
    }
    this.#told = target;
    const sends: Promise<void>[] = [];
    const rebase = (open: Open, loaded: Loaded | undefined) =>
      sends.push(documents.rebase(open.path, loaded?.text, loaded?.fromDisk ?? false, tried(open.path) !== undefined));
    // Gone documents first, so that the server looks at the disk when it hears that they went; changed ones last, so that it looks at them with all else known.
    for (const [open, loaded] of plan) if (loaded === undefined && documents.get(open.path) === open) rebase(open, loaded);
    sends.push(...this.announce(events));
    for (const [open, loaded] of plan) if (loaded !== undefined && documents.get(open.path) === open) rebase(open, loaded);
    return sends;
  }

  /** Tells of files made, changed and gone, whoever knows that. */
  announce(events: readonly FileEvent[], writeMs?: number): Promise<void>[] {
    const { wire, uris, documents } = this.#parts;
    const sends: Promise<void>[] = [];
    for (let at = 0; at < events.length; at += this.#parts.events) {
      const changes = events.slice(at, at + this.#parts.events).map(({ path, type }) => ({ uri: uris.uriOf(path), type }));
      sends.push(wire.notify(WATCHED, { changes }, writeMs));
      documents.noteChange();
    }
    return sends;
  }
}

/** A content that the disk has moved on from cannot be told: the document is closed, and opened again when it is asked about. */
async function unlessMoving(loading: Promise<Loaded | undefined>): Promise<Loaded | undefined> {
  try {
    return await loading;
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "NOT_READY") return undefined;
    throw thrown;
  }
}
