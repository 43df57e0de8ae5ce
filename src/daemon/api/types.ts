import type { ConnectRouter, ConnectRouterOptions, ContextValues } from "@connectrpc/connect";
import type { Annotations } from "../annotation/index.ts";
import type { Caller, Clock, Log, Random } from "../base/index.ts";
import type { Differ, Origins } from "../history/index.ts";
import type { Leases } from "../lease/index.ts";
import type { Lsp, LspWorkspace } from "../lsp/index.ts";
import type { Memory } from "../memory/index.ts";
import type { Tokens } from "../policy/index.ts";
import type { Search } from "../search/index.ts";
import type { Collector, RequestRow, Store } from "../store/index.ts";
import type { Workspace } from "../workspace/index.ts";

/** A workspace as the host holds it: its names, and its actor while it is open. */
export interface Hosted {
  readonly rowid: number;
  /** "ws_…". */
  readonly id: string;
  readonly name: string;
  /** "rp_…". */
  readonly repository: string;
  readonly repositoryName: string;
  /** Absolute path of its directory; shown to the owner only. */
  readonly root: string;
  /** Whether language servers that could run code of it may be started. */
  readonly trusted: boolean;
  /** undefined while it is closed. */
  readonly workspace: Workspace | undefined;
}

/** What only the owner asks to open. */
export interface OpenInput {
  /** Absolute path of the directory. */
  readonly root: string;
  /** Name for a new workspace; undefined takes the directory's. */
  readonly name: string | undefined;
  /** Id or name of the repository it joins; undefined makes a new one. */
  readonly repository: string | undefined;
  /** Builds the request's outcome row; to be written in the transaction that opens it. */
  readonly remember: (opened: { readonly hosted: Hosted; readonly created: boolean }) => RequestRow;
}

/** Somebody connected now, as Status tells it. */
export interface ClientFact {
  /** "NAME/VERSION", as it says itself. */
  readonly client: string;
  readonly principal: string;
  readonly transport: "socket" | "tcp";
  readonly connectedMs: number;
  readonly requests: number;
  /** Requests running now, streams included. */
  readonly running: number;
  readonly idleMs: number;
}

/** Facts of the running daemon for Status. */
export interface HostFacts {
  readonly pid: number;
  readonly uptimeMs: number;
  /** Absolute path of the host directory. */
  readonly host: string;
  /** Absolute path of the data directory. */
  readonly data: string;
  /** Absolute path of the socket. */
  readonly socket: string;
  /** "" when no TCP port is open. */
  readonly endpoint: string;
  readonly residentBytes: number;
  readonly connections: number;
  readonly mode: "foreground" | "on_demand";
  readonly node: string;
  readonly sqlite: string;
  readonly draining: boolean;
  /** In the order they came. */
  readonly clients: readonly ClientFact[];
}

/** Something this host can or cannot do, for Capabilities. */
export interface FeatureFact {
  /** Snake case, e.g. "path_confinement". */
  readonly name: string;
  /** Short value, e.g. "handle-walk", "disabled". */
  readonly value: string;
  /** A sentence for a person; why, when it is disabled. */
  readonly note: string;
}

/** What the api asks of the host. `main.ts` implements it; rooms below never see it. */
export interface HostControl {
  /** Every workspace of the host, from memory: called for each request. */
  workspaces(): readonly Hosted[];
  /** Opens a directory, or gives the workspace that has it open. Rejects with ROOT_OWNED, ROOT_OVERLAPS, PATH_INVALID, NOT_A_DIRECTORY. */
  open(input: OpenInput): Promise<{ readonly hosted: Hosted; readonly created: boolean }>;
  /** Lets running saves finish and lets go of the directory; history stays. */
  close(hosted: Hosted, remember: (closed: Hosted) => RequestRow): Promise<Hosted>;
  /**
   * Takes a workspace whose directory was moved at its new place, open from then on. Rejects with ROOT_OVERLAPS (another workspace's, one
   * that overlaps an open root, or its own still in place), ROOT_OWNED, WORKSPACE_MISSING_ROOT, NOT_A_DIRECTORY.
   */
  relink(hosted: Hosted, directory: string, remember: (relinked: Hosted) => RequestRow): Promise<Hosted>;
  /** Says whether language servers that could run code of it may be started; those that run are ended when that changes. */
  trust(hosted: Hosted, trusted: boolean, remember: (changed: Hosted) => RequestRow): Promise<Hosted>;
  /** Closes it and gives up its history; the directory stays as it is. */
  remove(hosted: Hosted, remember: (removed: Hosted) => RequestRow): Promise<Hosted>;
  facts(): HostFacts;
  /** What is really in force on this machine: confinement, durability, exchange, watcher … */
  features(): readonly FeatureFact[];
  /** Online copy of the store into a directory that does not exist yet; gives its bytes. */
  backup(directory: string): Promise<{ readonly bytes: number }>;
  /** Starts the drain after the running answers had a turn to leave; returns at once. */
  shutdown(drainMs: number): void;
}

/** The language servers, and a workspace as they see it. */
export interface LanguageServers extends Lsp {
  of(hosted: Hosted, workspace: Workspace): LspWorkspace;
}

/** Everything the api is made of. */
export interface ApiDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly leases: Leases;
  /** gc, and the bytes of history it holds to. */
  readonly garbage: Pick<Collector, "collect" | "quotaBytes">;
  readonly differ: Differ;
  readonly origins: Origins;
  readonly annotations: Annotations;
  readonly memory: Memory;
  readonly search: Search;
  readonly lsp: LanguageServers;
  readonly host: HostControl;
  readonly tokens: Pick<Tokens, "create" | "revoke" | "list" | "token">;
  /** The caller the listener admitted; one without a name is answered UNAUTHENTICATED. */
  readonly callerOf: (values: ContextValues) => Caller;
  /** Version of gin, e.g. "0.1.0". */
  readonly version: string;
  /** Who must hold a lease to save: "auto" is everybody who comes over TCP. */
  readonly requireLease: "auto" | "always" | "never";
}

/** The api: routes for the listener's adapter. */
export interface Api {
  /** Registers every RPC with its own limits and strict decoding. */
  routes(router: ConnectRouter): void;
  /** Options for the adapter that carries the routes: JSON spelling and the message limit of everything else. */
  readonly routerOptions: ConnectRouterOptions;
  /** URL paths served, e.g. "/gin.v1.GinService/ReadPath". */
  readonly knownPaths: readonly string[];
  /** Requests running now, for the drain and Status. */
  running(): number;
}
