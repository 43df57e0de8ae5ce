import type { Clock, Log } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { Dependencies, Mirror } from "../mirror/types.ts";
import type { Deadline, LaunchSpec, Run, Session } from "../session/types.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace, ServerStatus } from "../types.ts";

/** A server that is held for a question: it is not ended for idleness or memory until it is released. */
export interface Leased {
  readonly spec: ServerSpec;
  /** Workspace-relative directory it was started for; "" is the root. */
  readonly folder: string;
  readonly session: Session;
  readonly run: Run;
  /** Of exactly this run; its own `run` is this one with what is asked counted. */
  readonly mirror: Mirror;
  /** To be called once, whatever came of the question. */
  release(): void;
}

/** Which server: the one for a path, one of the table, or both (then it must be for the path). */
export interface Wanted {
  /** Canonical, workspace-relative. */
  readonly path?: string;
  readonly server?: string;
  /** With `server` alone: the directory of one that runs; default the root's. */
  readonly folder?: string;
}

/** The servers of all workspaces: started on first use, one for each workspace, server and folder, under one budget of memory. */
export interface Pool {
  /**
   * Holds a server that can be asked, started when it does not run. Rejects with UNSUPPORTED (none for the path, not installed, switched off),
   * LSP_NEEDS_TRUST, NOT_READY with `state` and `server`, CANCELLED. `evenIndexing` counts for rows that are `early`.
   */
  lease(workspace: LspWorkspace, wanted: Wanted, deadline: Deadline, evenIndexing?: boolean): Promise<Leased>;
  /** The row that would be asked about a path; throws as lease does before anything is started. */
  serverFor(workspace: LspWorkspace, wanted: Wanted): ServerSpec;
  /** Servers of a workspace that run now. */
  running(workspace: LspWorkspace): readonly { readonly spec: ServerSpec; readonly folder: string }[];
  /** Servers that run, ran, or would be used for files of the workspace. */
  status(workspace: LspWorkspace): readonly ServerStatus[];
  /** Told of each change of a server's state. */
  onStatus(listener: (workspace: number, status: ServerStatus) => void): () => void;
  /** Ends servers of a workspace (one of the table, or all), whoever asks them; the next question starts them anew, and looks for their programs again. */
  restart(workspace: LspWorkspace, server: string | undefined): Promise<void>;
  /** Ends those of a workspace that is closed; resolves when no process is left. */
  detach(workspace: number): Promise<void>;
  /** Ends all, for good. */
  close(): Promise<void>;
}

/** What the owner says of a server instead of the table (HOST/config.json, lsp_servers). */
export interface ServerOverride {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly settings?: { readonly [section: string]: unknown };
  readonly initialization_options?: { readonly [name: string]: unknown };
  readonly disabled?: boolean;
}

/** What the pool is made of. */
export interface PoolDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly table: readonly ServerSpec[];
  /** Where a row's program is; undefined when it is not installed. */
  readonly discover: (spec: ServerSpec) => Found | undefined;
  /** Whether the owner switched a row off. */
  readonly disabled: (spec: ServerSpec) => boolean;
  /** Everything needed to start one. */
  readonly launch: (spec: ServerSpec, found: Found, workspace: LspWorkspace, folder: string) => LaunchSpec;
  readonly session: (launch: LaunchSpec) => Session;
  readonly mirror: (parts: MirrorOf) => Mirror;
  /** Looks at dependencies in folders that are not watched; none in tests that have none. */
  readonly dependencies?: (workspace: LspWorkspace, folder: string) => Dependencies;
  /** Resident bytes of the process groups of these leaders. */
  readonly resident: (leaders: readonly number[]) => Promise<ReadonlyMap<number, number>>;
  /** Resident bytes all of them may take. */
  readonly memoryBytes: number;
  /** Milliseconds without a question after which one is ended. */
  readonly idleMs: number;
  /** How many may be starting at a time. */
  readonly startsAtOnce: number;
}

/** Which run a mirror is made for. */
export interface MirrorOf {
  readonly run: Run;
  readonly workspace: LspWorkspace;
  readonly spec: ServerSpec;
  readonly folder: string;
  /** The head's tree when its process was started. */
  readonly since: Hash;
  /** Last looked at when its process was started. */
  readonly dependencies: Dependencies | undefined;
  /** Ends the run, which cannot be trusted any more. */
  readonly stop: (why: string) => void;
}

/** A program that was found. */
export interface Found {
  /** Absolute, with its arguments. */
  readonly command: readonly string[];
}
