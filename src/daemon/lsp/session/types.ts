import type { InitializeResult, ServerCapabilities } from "vscode-languageserver-protocol";
import type { ServerState } from "../types.ts";

/** How a server counts characters. */
export type Encoding = "utf-8" | "utf-16" | "utf-32";

/** When a whole question must have ended, in monotonic milliseconds, and the caller's own end. */
export interface Deadline {
  readonly atMs: number;
  readonly signal: AbortSignal;
}

/** How a server says that it knows the workspace. */
export type Readiness =
  /** It answers only when it does: ready as soon as it is initialised. */
  | { readonly kind: "answers" }
  /** Work-done progress whose title or token matches is begun within `graceMs` after initialisation, and over. */
  | { readonly kind: "progress"; readonly matches: RegExp; readonly graceMs: number }
  /** A notification that says so (method, and whether its params mean ready, or not any more; undefined when they are about something else). */
  | { readonly kind: "notification"; readonly method: string; readonly ready: (params: unknown) => boolean | undefined };

/** What is needed to start one server: from the table, the host's configuration and the workspace's trust. */
export interface LaunchSpec {
  /** Of the table. */
  readonly server: string;
  /** Absolute path of the program and its arguments; never from below a workspace. */
  readonly command: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute directory: its working directory and root URI. */
  readonly directory: string;
  readonly initializationOptions: unknown;
  /** Answers workspace/configuration: the value at a section ("python.analysis"); null where there is none. */
  readonly settings: (section: string | undefined) => unknown;
  /** Whether it asks for them by itself: told that they changed as well, it lists the project twice, and forgets between what it was shown of it. */
  readonly asksSettings: boolean;
  readonly readiness: Readiness;
  /** Some want `shutdown` without params. */
  readonly shutdownParams: "none" | "null";
  /** Milliseconds `initialize` may take. */
  readonly initializeMs: number;
  /** Of the table: what it says on its standard error when it failed and keeps that from those who asked. */
  readonly failures?: RegExp;
  /** Of the table: what it logs when it knows less than the whole project from then on. */
  readonly doubts?: RegExp;
}

/** One run of a server's process: from initialised to ended. */
export interface Run {
  /** Counts the runs of a session, from 1. */
  readonly number: number;
  readonly encoding: Encoding;
  /** With what it registered since laid over: to be looked at for each question (pyright registers pull diagnostics shortly after it is ready). */
  readonly capabilities: ServerCapabilities;
  readonly info: InitializeResult["serverInfo"];
  /**
   * A request. Cancelled at the server when the deadline passes or the caller gives up: NOT_READY state "timed_out", CANCELLED. The server's error:
   * LSP_REFUSED with facts `code` and `message` (ContentModified and ServerCancelled: NOT_READY state "changing"). The process ended: NOT_READY "crashed";
   * it was stopped by us: "stopped".
   */
  request(method: string, params: unknown, deadline: Deadline): Promise<unknown>;
  /**
   * A notification; resolves when it is written: how long that takes is the server's doing, which is ended when it reads nothing for a minute. What is
   * sent first arrives first, requests included. Rejects with NOT_READY "crashed" (or "stopped") when it was not written. Without params (undefined) none are
   * written.
   */
  notify(method: string, params: unknown): Promise<void>;
  /**
   * Hears a notification of the server, its requests to ask again ("workspace/diagnostic/refresh", without params), and those to make an edit
   * ("workspace/applyEdit"), which are refused to it.
   */
  on(method: string, listener: (params: unknown) => void): () => void;
  /** Capabilities registered by the server, by method, with their options as sent. */
  registered(method: string): readonly unknown[];
  /** How many lines of its standard error so far say that it failed, by the table's pattern; 0 where that has none. */
  readonly failures: number;
  /** Whether it has logged that it knows less than the whole project, by the table's pattern; for as long as it runs. */
  readonly doubtful: boolean;
  /** Titles of work the server says is going on. */
  progress(): readonly string[];
  /** Resolves once the process is gone; never rejects. */
  readonly ended: Promise<void>;
}

/** A server of one workspace folder over its starts and crashes. */
export interface Session {
  readonly server: string;
  /** See session/machine.ts. */
  readonly state: ServerState;
  /** For people; "" when all is well. */
  readonly note: string;
  /** What is still being done, of "indexing". */
  readonly progress: readonly string[];
  readonly restarts: number;
  readonly stderrTail: string;
  /** Process id of the group's leader; undefined when none runs. */
  readonly pid: number | undefined;
  /**
   * A run that can be asked, started when there is none. Waits for "ready" until the deadline; with `evenIndexing` any initialised run will do. Rejects
   * with NOT_READY and its `state` ("starting", "indexing", "crashed", "broken"; "stopped" once it is closed), CANCELLED.
   */
  run(deadline: Deadline, evenIndexing?: boolean): Promise<Run>;
  /** Whatever run there is now, initialised; undefined when there is none. */
  readonly current: Run | undefined;
  onState(listener: (state: ServerState) => void): () => void;
  /** Asks it to end (shutdown, exit, then its whole process group by signal); resolves when nothing is left. A later `run` starts it anew, "broken" too. */
  stop(): Promise<void>;
  /** As stop, for good. */
  close(): Promise<void>;
}
