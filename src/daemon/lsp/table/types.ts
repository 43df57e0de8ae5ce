import type { Readiness } from "../session/types.ts";

/** A row of the server table. */
export interface ServerSpec {
  /** "typescript". */
  readonly id: string;
  /** LSP language id by file extension with its dot (".ts" → "typescript"), or whole file name ("Dockerfile"). */
  readonly languages: Readonly<Record<string, string>>;
  /** Candidates in order of preference: program names looked for in the daemon's PATH, or "gin:" + a path in gin's own packages. */
  readonly commands: readonly (readonly string[])[];
  /** Command for a person that installs it. */
  readonly install: string;
  /** Files that mark a project's directory. */
  readonly markers: readonly string[];
  /** Where it is started: the workspace's root, or the topmost/nearest directory with a marker above the file. */
  readonly folder: "root" | "topmost" | "nearest";
  readonly readiness: Readiness;
  readonly initializationOptions?: unknown;
  /** Settings for workspace/configuration, by section path. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Whether it asks for them once it is initialised, so that it need not be told. */
  readonly asksSettings?: true;
  /** Laid over settings and options when the workspace is not trusted, so that it runs nothing of it. */
  readonly untrusted:
    | {
        readonly settings?: Readonly<Record<string, unknown>>;
        readonly initializationOptions?: unknown;
        readonly env?: Readonly<Record<string, string>>;
      }
    | "refused";
  /** For docs/lsp.md: what it may run of a trusted workspace. */
  readonly runs: string;
  /** Whether references and renames see files that were never opened; false: the room opens what it must, or says partial. */
  readonly wholeProject: boolean;
  /**
   * By whose rules it is found out what a server does not see before it is opened: "typescript" knows the projects of open files only, "pyright" what the one
   * configuration includes and what is open, "open" what is open alone. What holds the word asked about is opened then (queries/cover.ts). Default: nothing is opened.
   */
  readonly projects?: "typescript" | "pyright" | "open";
  /**
   * Whether what it says of a lone file can be relied upon before it knows the workspace. Some (bash) never look at what was opened before: they are
   * asked nothing until they are ready.
   */
  readonly early?: true;
  /** Whether it can look for symbols of the whole workspace: one that cannot is not missed where all are asked. Default true. */
  readonly workspaceSymbols?: false;
  /**
   * For one that names no version with the diagnostics it pushes and computes them in threads beside: what is pushed after it has taken a text may be of the text
   * before. It is shown each text by a name that is used for that text alone (mirror/pushed.ts), so it must take a URI's fragment for no part of a file's name.
   * `failures` are lines of its standard error: it says there alone that it failed, and pushes an empty list.
   */
  readonly beside?: { readonly failures: RegExp };
  /** What it logs (window/logMessage) when it goes on without knowing the whole project: answers about more than one file are partial then, until it is started again. */
  readonly doubts?: RegExp;
  /** Params of shutdown; default "null". */
  readonly shutdownParams?: "none" | "null";
  readonly env?: Readonly<Record<string, string>>;
  /** Names of variables of the daemon's environment that are passed on beside PATH, HOME, LANG, TMPDIR. */
  readonly passes?: readonly string[];
}
