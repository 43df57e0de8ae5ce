import * as path from "node:path";
import { type HostPaths, rootLockDirectory } from "../paths/index.ts";
import type { Hosted, OpenInput } from "./api/index.ts";
import { GinError, type Log, type Random, toGinError } from "./base/index.ts";
import {
  claimRoot,
  type DirectoryIdentity,
  identify,
  type LockTaker,
  type OpenRoot,
  type RootClaim,
  refuseOwnState,
  relate,
  rootChanged,
} from "./host/index.ts";
import type { Leases } from "./lease/index.ts";
import { nameNew } from "./names.ts";
import type { RequestRow, Store, WorkspaceRow } from "./store/index.ts";
import { unavailableWorkspace } from "./unavailable.ts";
import type { Workspace } from "./workspace/index.ts";

/** What the hosting of workspaces is made of. */
export interface HostingDeps {
  readonly paths: HostPaths;
  readonly store: Store;
  readonly leases: Leases;
  readonly random: Random;
  readonly log: Log;
  readonly takeLock: LockTaker;
  /** Opens the engine over a row's directory, recovering it first; the claim on the root is held by then. */
  readonly openEngine: (row: WorkspaceRow) => Promise<Workspace>;
  /** Ends the language servers of a workspace; resolves when no process is left. */
  readonly detachServers: (rowid: number) => Promise<void>;
}

interface Entry {
  hosted: Hosted;
  /** Undefined while closed, or while the root cannot be had. */
  claim: RootClaim | undefined;
}

/** Reasons that concern the whole store: they stop the start instead of one workspace. */
const WHOLE_STORE: ReadonlySet<string> = new Set(["STORE_CORRUPT", "STORE_READ_ONLY", "STORE_TOO_NEW", "DISK_FULL"]);

/** What mends a workspace that was missing at the start: nothing looks at its directory again unasked. */
const TAKE_AGAIN = "once the directory is back, gin workspace open DIR takes it again; else gin workspace remove";

/** The workspaces of this host: opened, closed and removed one at a time, each with its root claimed and its engine. */
export class Hosting {
  readonly #deps: HostingDeps;
  readonly #entries = new Map<number, Entry>();
  /** Guards the map, claims and rows: one change at a time, in the order asked. */
  #turn: Promise<unknown> = Promise.resolve();
  #list: readonly Hosted[] = [];

  constructor(deps: HostingDeps) {
    this.#deps = deps;
  }

  /** Every workspace, open or closed. */
  workspaces(): readonly Hosted[] {
    return this.#list;
  }

  /**
   * Opens and recovers every active workspace of the store; called once, before anything listens. A root that is gone, replaced or
   * taken makes that workspace "missing" or "stopped", never the start fail.
   */
  async recover(): Promise<void> {
    for (const row of this.#deps.store.read.workspaces()) {
      const entry: Entry = { hosted: hostedOf(row, undefined), claim: undefined };
      this.#entries.set(row.rowid, entry);
      if (row.status === "active") await this.#attachOrExplain(entry, row);
    }
    this.#publish();
  }

  /** As HostControl.open. `requested` writes the outcome; left out when the daemon opens a root for itself. */
  open(
    input: Omit<OpenInput, "remember"> & Partial<Pick<OpenInput, "remember">>,
  ): Promise<{ readonly hosted: Hosted; readonly created: boolean }> {
    return this.#inTurn(async () => {
      const opened = await this.#open(input);
      this.#publish();
      if (input.remember !== undefined) await this.#deps.store.write("request", input.remember(opened));
      return opened;
    });
  }

  /** The workspace that has a directory open or encloses it; undefined when none does. Throws as `identify`. */
  enclosing(root: string): Hosted | undefined {
    const related = relate(identify(root), this.#openRoots());
    if (related === undefined || related.how === "around") return undefined;
    return this.#list.find((hosted) => hosted.id === related.of.workspace);
  }

  /** As HostControl.close. */
  close(hosted: Hosted, remember: (closed: Hosted) => RequestRow): Promise<Hosted> {
    return this.#inTurn(async () => {
      const entry = this.#entry(hosted);
      await this.#detach(entry);
      await this.#deps.store.write("workspace.status", {
        rowid: hosted.rowid,
        status: "closed",
        request: remember(entry.hosted),
      });
      return entry.hosted;
    });
  }

  /** As HostControl.relink. */
  relink(hosted: Hosted, directory: string, remember: (relinked: Hosted) => RequestRow): Promise<Hosted> {
    return this.#inTurn(async () => {
      const entry = this.#entry(hosted);
      const root = identify(directory);
      const { paths } = this.#deps;
      refuseOwnState(root, [paths.host, paths.data, paths.socketDirectory, rootLockDirectory()]);
      this.#refuseInPlace(this.#row(hosted.rowid), root);
      this.#refuseAnothers(hosted.rowid, root);
      const relinked = await this.#reopen(entry, root);
      await this.#deps.store.write("request", remember(relinked));
      return relinked;
    });
  }

  /** As HostControl.trust. */
  trust(hosted: Hosted, trusted: boolean, remember: (changed: Hosted) => RequestRow): Promise<Hosted> {
    return this.#inTurn(async () => {
      const entry = this.#entry(hosted);
      const changed: Hosted = { ...entry.hosted, trusted };
      await this.#deps.store.write("workspace.trust", { rowid: hosted.rowid, trusted, request: remember(changed) });
      entry.hosted = changed;
      this.#publish();
      // What runs was started under the other word.
      await this.#deps.detachServers(hosted.rowid);
      return changed;
    });
  }

  /** As HostControl.remove. */
  remove(hosted: Hosted, remember: (removed: Hosted) => RequestRow): Promise<Hosted> {
    return this.#inTurn(async () => {
      const entry = this.#entry(hosted);
      await this.#detach(entry);
      await this.#deps.store.write("workspace.remove", { rowid: hosted.rowid, request: remember(entry.hosted) });
      this.#entries.delete(hosted.rowid);
      this.#publish();
      return entry.hosted;
    });
  }

  /** Refuses a directory for a backup that lies in an open root or in gin's own state. */
  refuseBackupInto(directory: string): void {
    const parent = identify(path.dirname(directory));
    const related = relate(parent, this.#openRoots());
    if (related === undefined || related.how === "around") return;
    throw new GinError("ROOT_OVERLAPS", "the backup would lie in a served directory", "name a directory outside it", {
      facts: { workspace: related.of.workspace },
    });
  }

  /** Marks every claim as alive. */
  touchClaims(): void {
    for (const { claim } of this.#entries.values()) claim?.touch();
  }

  /** Saves waiting or not yet on disk, over all workspaces. */
  busySaves(): number {
    return this.#list.reduce((sum, { workspace }) => sum + (workspace?.queued() ?? 0) + (workspace?.applyPending() ?? 0), 0);
  }

  /** Whether the first look at some whole tree goes on. */
  importing(): boolean {
    return this.#list.some(
      ({ workspace }) => workspace?.importProgress().done === false && workspace.status().status === "active",
    );
  }

  /** Leases held, over all workspaces. */
  leases(): number {
    return this.#list.reduce(
      (sum, hosted) => sum + (hosted.workspace === undefined ? 0 : this.#deps.leases.list(hosted.rowid).length),
      0,
    );
  }

  /** Lets running saves finish and lets go of every root; the workspaces stay active in the store. */
  closeAll(): Promise<void> {
    return this.#inTurn(async () => {
      for (const entry of this.#entries.values()) {
        await this.#detach(entry).catch((thrown: unknown) => {
          this.#deps.log.error(
            { workspace: entry.hosted.id, err: thrown },
            "a workspace did not close; recovery mends it at the next start",
          );
        });
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #open(input: Omit<OpenInput, "remember">): Promise<{ readonly hosted: Hosted; readonly created: boolean }> {
    const { paths } = this.#deps;
    const root = identify(input.root);
    refuseOwnState(root, [paths.host, paths.data, paths.socketDirectory, rootLockDirectory()]);
    // A workspace whose directory was replaced keeps the old identity: it is found by its path. One that stopped for a fault of
    // the disk is not started again here.
    const lost = [...this.#entries.values()].find(
      ({ hosted, claim }) =>
        hosted.root === root.path && (claim === undefined || hosted.workspace?.status().status === "missing"),
    );
    if (lost !== undefined) return { hosted: await this.#reopen(lost, root), created: false };
    const related = relate(root, this.#openRoots());
    if (related?.how === "same") {
      const same = this.#list.find((hosted) => hosted.id === related.of.workspace);
      if (same !== undefined) return { hosted: same, created: false };
    }
    if (related !== undefined) {
      const where = related.how === "inside" ? "inside an open root" : "around an open root";
      throw new GinError("ROOT_OVERLAPS", `the directory is ${where}`, undefined, { facts: { workspace: related.of.workspace } });
    }
    return { hosted: await this.#create(input, root), created: true };
  }

  /** A served directory that is where it was did not move: what is named is another one, a copy perhaps. */
  #refuseInPlace(row: WorkspaceRow, root: DirectoryIdentity): void {
    if (row.status === "closed" || row.root === root.path) return;
    if (rootChanged({ path: row.root, device: row.device, inode: row.inode }) !== "") return;
    throw new GinError("ROOT_OVERLAPS", "the workspace's directory is still in its place", "gin workspace close it first", {
      facts: { workspace: row.id },
    });
  }

  /** Also a closed workspace keeps its directory: opening it again must find it. */
  #refuseAnothers(rowid: number, root: DirectoryIdentity): void {
    const others = this.#deps.store.read.workspaces().filter((row) => row.rowid !== rowid);
    const same = others.find(({ device, inode }) => device === root.device && inode === root.inode);
    const taken = same ?? others.find((row) => row.root === root.path);
    if (taken === undefined) return;
    throw new GinError("ROOT_OVERLAPS", "the directory is another workspace's", "gin workspace list", {
      facts: { workspace: taken.id },
    });
  }

  /** Opens a closed, missing or stopped workspace again, taking the directory that is there now. */
  async #reopen(entry: Entry, root: DirectoryIdentity): Promise<Hosted> {
    const { rowid } = entry.hosted;
    const others = this.#openRoots().filter(({ workspace }) => workspace !== entry.hosted.id);
    const related = relate(root, others);
    if (related !== undefined) {
      throw new GinError("ROOT_OVERLAPS", "the directory overlaps an open root", undefined, {
        facts: { workspace: related.of.workspace },
      });
    }
    await this.#detach(entry);
    const claim = this.#claimOr(root, entry);
    try {
      const { path: at, device, inode } = root;
      await this.#deps.store.write("workspace.status", { rowid, status: "active", root: at, device, inode });
      await this.#attach(entry, this.#row(rowid), claim);
    } catch (thrown) {
      claim.release();
      this.#standIn(entry, this.#row(rowid), toGinError(thrown));
      throw thrown;
    }
    return entry.hosted;
  }

  async #create(input: Omit<OpenInput, "remember">, root: DirectoryIdentity): Promise<Hosted> {
    const { store, random } = this.#deps;
    const names = nameNew(input, path.basename(root.path), this.#list, random);
    const claim = this.#claim(root);
    let rowid = 0;
    try {
      const row = {
        id: random.id("ws"),
        ...names,
        root: root.path,
        device: root.device,
        inode: root.inode,
        incarnation: random.id("in"),
        tree: store.trees.empty,
      };
      rowid = (await store.write("workspace.create", { row })).rowid;
      const entry: Entry = { hosted: hostedOf(this.#row(rowid), undefined), claim: undefined };
      await this.#attach(entry, this.#row(rowid), claim);
      this.#entries.set(rowid, entry);
      return entry.hosted;
    } catch (thrown) {
      claim.release();
      if (rowid !== 0) await store.write("workspace.remove", { rowid });
      throw thrown;
    }
  }

  async #attachOrExplain(entry: Entry, row: WorkspaceRow): Promise<void> {
    const recorded = { path: row.root, device: row.device, inode: row.inode };
    const changed = rootChanged(recorded);
    let claim: RootClaim | undefined;
    try {
      if (changed !== "") throw new GinError("WORKSPACE_MISSING_ROOT", changed, TAKE_AGAIN);
      claim = this.#claim(recorded);
      await this.#attach(entry, row, claim);
    } catch (thrown) {
      claim?.release();
      const why = toGinError(thrown);
      if (WHOLE_STORE.has(why.reason)) throw why;
      this.#standIn(entry, row, why);
    }
  }

  /** Keeps a workspace in the list, without its files, and says why. */
  #standIn(entry: Entry, row: WorkspaceRow, why: GinError): void {
    const status = why.reason === "WORKSPACE_MISSING_ROOT" ? "missing" : "stopped";
    this.#deps.log.warn({ workspace: row.id, reason: why.reason, err: why.cause }, `workspace ${status}: ${why.message}`);
    this.#deps.leases.load(row.rowid);
    entry.hosted = hostedOf(row, unavailableWorkspace(row, status, why));
    this.#publish();
  }

  async #attach(entry: Entry, row: WorkspaceRow, claim: RootClaim): Promise<void> {
    const workspace = await this.#deps.openEngine(row);
    this.#deps.leases.load(row.rowid);
    entry.hosted = hostedOf(row, workspace);
    entry.claim = claim;
    this.#publish();
  }

  async #detach(entry: Entry): Promise<void> {
    const { workspace, rowid } = entry.hosted;
    await this.#deps.detachServers(rowid);
    if (workspace !== undefined) {
      await workspace.close();
      this.#deps.leases.unload(rowid);
    }
    entry.claim?.release();
    entry.claim = undefined;
    entry.hosted = { ...entry.hosted, workspace: undefined };
    this.#publish();
  }

  #claim(root: DirectoryIdentity): RootClaim {
    return claimRoot(root, this.#deps.paths.host, this.#deps.takeLock);
  }

  /** Claims a root for a workspace that was just detached; without it the workspace stays listed, stopped. */
  #claimOr(root: DirectoryIdentity, entry: Entry): RootClaim {
    try {
      return this.#claim(root);
    } catch (thrown) {
      const row = this.#row(entry.hosted.rowid);
      if (row.status === "active") this.#standIn(entry, row, toGinError(thrown));
      throw thrown;
    }
  }

  #openRoots(): OpenRoot[] {
    const roots: OpenRoot[] = [];
    for (const { hosted } of this.#entries.values()) {
      if (hosted.workspace === undefined) continue;
      const row = this.#row(hosted.rowid);
      roots.push({ path: row.root, device: row.device, inode: row.inode, workspace: row.id });
    }
    return roots;
  }

  #row(rowid: number): WorkspaceRow {
    const row = this.#deps.store.read.workspace(rowid);
    if (row === undefined) throw new GinError("INTERNAL", "a workspace's row is gone");
    return row;
  }

  #entry(hosted: Hosted): Entry {
    const entry = this.#entries.get(hosted.rowid);
    if (entry === undefined) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace was removed meanwhile");
    return entry;
  }

  #publish(): void {
    this.#list = [...this.#entries.values()].map(({ hosted }) => hosted);
  }
}

function hostedOf(row: WorkspaceRow, workspace: Workspace | undefined): Hosted {
  const { rowid, id, name, repository, repositoryName, root, trusted } = row;
  return { rowid, id, name, repository, repositoryName, root, trusted, workspace };
}
