import { GinError } from "../../base/index.ts";
import { givenUp, notReady } from "../session/failures.ts";
import { whenOver } from "../session/over.ts";
import type { Deadline, Run } from "../session/types.ts";
import { languagesOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace, ServerStatus } from "../types.ts";
import { type Choice, choose, folderFor } from "./choose.ts";
import { Entry } from "./entry.ts";
import { Languages } from "./languages.ts";
import { Budget } from "./memory.ts";
import { Slots } from "./slots.ts";
import type { Leased, MirrorOf, Pool, PoolDeps, Wanted } from "./types.ts";

/** Milliseconds after which it makes sense to ask whether there is memory again. */
const ROOM_MS = 250;

/** Milliseconds for which one that is starting counts as one. */
const START_MS = 3_000;

/** Milliseconds for which a program that was found, or not, is not looked for again to be listed. */
const LOOKED_MS = 2_000;

/** The servers of all workspaces of a host. */
export function createPool(deps: PoolDeps): Pool {
  return new ServerPool(deps);
}

class ServerPool implements Pool {
  readonly #deps: PoolDeps;
  /** By workspace, server and folder. Looked at and set in one tick. */
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(workspace: number, status: ServerStatus) => void>();
  readonly #languages: Languages;
  readonly #slots: Slots;
  readonly #budget: Budget;
  /** The last one seen of each, so that a question still under way when it is closed starts nothing for it. */
  readonly #workspaces = new Map<number, LspWorkspace>();
  readonly #gone = new WeakSet<LspWorkspace>();
  readonly #looked = new Map<ServerSpec, { readonly atMs: number; readonly found: boolean }>();
  #closed = false;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
    this.#languages = new Languages(deps.table);
    this.#slots = new Slots(deps.clock, deps.startsAtOnce);
    this.#budget = new Budget({ ...deps, entries: () => this.#entries.values(), end: (entry, why) => this.#end(entry, why) });
  }

  async lease(workspace: LspWorkspace, wanted: Wanted, deadline: Deadline, evenIndexing = false): Promise<Leased> {
    this.#note(workspace);
    const entry = this.#entryFor(workspace, wanted);
    this.#take(entry);
    try {
      const run = await this.#running(entry, deadline, evenIndexing && entry.spec.early === true);
      const mirror = entry.mirrorOf(run, () => this.#deps.mirror(this.#mirrorOf(entry, run)));
      let held = true;
      const release = (): void => {
        if (held) this.#give(entry);
        held = false;
      };
      return { spec: entry.spec, folder: entry.folder, session: entry.session, run, mirror, release };
    } catch (thrown) {
      this.#give(entry);
      throw thrown;
    }
  }

  serverFor(workspace: LspWorkspace, wanted: Wanted): ServerSpec {
    return this.#choose(workspace, wanted).spec;
  }

  running(workspace: LspWorkspace): readonly { readonly spec: ServerSpec; readonly folder: string }[] {
    return this.#of(workspace.rowid)
      .filter(({ session }) => session.current !== undefined)
      .map(({ spec, folder }) => ({ spec, folder }));
  }

  status(workspace: LspWorkspace): readonly ServerStatus[] {
    // Whoever asks where things stand while they end is told that nothing runs.
    if (this.#closed || this.#gone.has(workspace)) return [];
    this.#note(workspace);
    const now = this.#deps.clock.monotonicMs();
    const entries = this.#of(workspace.rowid);
    const started = new Set(entries.map(({ spec }) => spec));
    const wanted = this.#languages.of(workspace);
    const others = this.#deps.table
      .filter((spec) => wanted.has(spec) && !started.has(spec) && !this.#deps.disabled(spec))
      .map((spec) => ({ spec, found: this.#installed(spec) }));
    const idle = others.filter(({ spec, found }, index) => {
      const rivals = (one: ServerSpec): boolean =>
        one !== spec && languagesOf(one).some((name) => languagesOf(spec).includes(name));
      if ([...started].some(rivals)) return false;
      // Of several for a language the first that is installed stands for them, or the first at all.
      return !others.some((other, place) => rivals(other.spec) && (other.found === found ? place < index : other.found));
    });
    return [
      ...entries.map((entry) => entry.status(now)),
      ...idle.map(({ spec, found }) => neverStarted(spec, found, workspace.trusted)),
    ];
  }

  onStatus(listener: (workspace: number, status: ServerStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async restart(workspace: LspWorkspace, server: string | undefined): Promise<void> {
    await this.#drop(this.#of(workspace.rowid).filter(({ spec }) => server === undefined || spec.id === server));
  }

  async detach(workspace: number): Promise<void> {
    const last = this.#workspaces.get(workspace);
    if (last !== undefined) this.#gone.add(last);
    this.#workspaces.delete(workspace);
    this.#languages.forget(workspace);
    await this.#drop(this.#of(workspace));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#budget.close();
    await this.#drop([...this.#entries.values()]);
  }

  #of(workspace: number): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.workspace.rowid === workspace);
  }

  #note(workspace: LspWorkspace): void {
    if (this.#closed) throw new GinError("BUSY", "the daemon is ending");
    if (this.#gone.has(workspace)) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace was closed meanwhile");
    this.#workspaces.set(workspace.rowid, workspace);
  }

  /** A row that runs here has been found: nothing is looked for on the disk. */
  #choose(workspace: LspWorkspace, wanted: Wanted): Choice {
    const { table, disabled, discover } = this.#deps;
    const running = this.#of(workspace.rowid).filter(({ session }) => session.current !== undefined);
    const found = (spec: ServerSpec) => running.find((entry) => entry.spec === spec)?.found ?? discover(spec);
    return choose(workspace, wanted, { table, disabled, discover: found });
  }

  #entryFor(workspace: LspWorkspace, wanted: Wanted): Entry {
    const choice = this.#choose(workspace, wanted);
    const folder = wanted.path === undefined ? (wanted.folder ?? "") : folderFor(workspace, choice.spec, wanted.path);
    const key = `${workspace.rowid}\n${choice.spec.id}\n${folder}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = this.#make(workspace, choice, folder);
    this.#entries.set(key, entry);
    return entry;
  }

  #make(workspace: LspWorkspace, { spec, found }: Choice, folder: string): Entry {
    const session = this.#deps.session(this.#deps.launch(spec, found, workspace, folder));
    const entry = new Entry(workspace, spec, folder, session, found, this.#deps.clock.monotonicMs());
    const dependencies = this.#deps.dependencies?.(workspace, folder);
    entry.dependencies = dependencies;
    session.onState((state) => {
      // In the tick its process was started: the head cannot have moved since, and what it will read of dependencies is what is there.
      if (state === "starting") {
        entry.since = workspace.tree();
        dependencies?.look();
      }
      this.#tell(entry);
    });
    return entry;
  }

  #mirrorOf(entry: Entry, run: Run): MirrorOf {
    const { workspace, spec, folder, since, dependencies, session } = entry;
    const stop = (why: string): void => {
      this.#deps.log.warn(
        { server: spec.id, workspace: workspace.id, why },
        "a language server cannot be trusted any more and is ended",
      );
      void session.stop();
    };
    return { run, workspace, spec, folder, since, dependencies, stop };
  }

  /** Whether its program is there: looked for again only after a while, since lists of servers are asked often. */
  #installed(spec: ServerSpec): boolean {
    const now = this.#deps.clock.monotonicMs();
    const before = this.#looked.get(spec);
    if (before !== undefined && now - before.atMs < LOOKED_MS) return before.found;
    const found = this.#deps.discover(spec) !== undefined;
    this.#looked.set(spec, { atMs: now, found });
    return found;
  }

  #tell(entry: Entry): void {
    if (this.#listeners.size === 0) return;
    const status = entry.status(this.#deps.clock.monotonicMs());
    for (const listener of this.#listeners) listener(entry.workspace.rowid, status);
  }

  #take(entry: Entry): void {
    entry.users += 1;
    entry.cancelIdle?.();
    entry.cancelIdle = undefined;
  }

  #give(entry: Entry): void {
    const { clock, idleMs } = this.#deps;
    entry.users -= 1;
    entry.usedMs = clock.monotonicMs();
    if (entry.users > 0 || entry.session.pid === undefined) return;
    entry.cancelIdle = clock.after(idleMs, () => void this.#end(entry, "nobody asked it for a while"));
  }

  /** A run that can be asked; started, a few at a time and when there is memory, if there is none. */
  async #running(entry: Entry, deadline: Deadline, evenIndexing: boolean): Promise<Run> {
    const { session } = entry;
    if (session.pid !== undefined) return session.run(deadline, evenIndexing);
    if (!(await this.#slots.enter(deadline))) throw this.#late(entry, deadline, "others are being started");
    const leave = once(() => this.#slots.leave());
    // One that hangs while it starts must not keep the others from starting.
    const late = this.#deps.clock.after(START_MS, leave);
    try {
      await this.#room(entry, deadline);
      const off = session.onState((state) => {
        if (state === "starting") return;
        off();
        late();
        leave();
      });
      this.#budget.watch();
      return await session.run(deadline, evenIndexing);
    } finally {
      // What is still starting keeps its place although this caller waits no longer.
      if (session.state !== "starting") leave();
    }
  }

  async #room(entry: Entry, deadline: Deadline): Promise<void> {
    const { clock } = this.#deps;
    const { atMs, signal } = deadline;
    while (entry.session.pid === undefined && !(await this.#budget.room())) {
      const now = clock.monotonicMs();
      if (now >= atMs || signal.aborted)
        throw this.#late(entry, deadline, "the servers being asked take all the memory there is for them");
      const pause = { atMs: Math.min(now + ROOM_MS, atMs), signal };
      await new Promise<void>((resolve) => void whenOver(clock, pause, () => resolve()));
    }
  }

  #late(entry: Entry, { signal }: Deadline, note: string): GinError {
    return signal.aborted ? givenUp(entry.spec.id) : notReady(entry.spec.id, "starting", note);
  }

  /** Ends one that nobody asks; its place, and what is known of its crashes, stay. */
  async #end(entry: Entry, why: string): Promise<void> {
    if (entry.users > 0) return;
    entry.cancelIdle?.();
    entry.cancelIdle = undefined;
    this.#deps.log.info({ server: entry.spec.id, workspace: entry.workspace.id, why }, "a language server is ended");
    await entry.session.stop();
    if (entry.session.pid === undefined) entry.letGo();
  }

  async #drop(entries: readonly Entry[]): Promise<void> {
    for (const [key, entry] of this.#entries) if (entries.includes(entry)) this.#entries.delete(key);
    await Promise.all(
      entries.map(async (entry) => {
        entry.cancelIdle?.();
        await entry.session.close();
        entry.letGo();
      }),
    );
  }
}

function neverStarted(spec: ServerSpec, found: boolean, trusted: boolean): ServerStatus {
  const refused = spec.untrusted === "refused" && !trusted;
  return {
    server: spec.id,
    folder: "",
    state: !found ? "not_installed" : refused ? "needs_trust" : "stopped",
    name: "",
    version: "",
    note: !found ? "" : refused ? `could run code of this workspace: ${spec.runs}` : "started when it is asked",
    install: found ? "" : spec.install,
    languages: languagesOf(spec),
    residentBytes: 0,
    openDocuments: 0,
    restarts: 0,
    idleMs: 0,
    stderrTail: "",
  };
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}
