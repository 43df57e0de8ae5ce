import type { Clock, CommandResult, Commands, Fs } from "../../base/index.ts";

/** What reading a repository takes. */
export interface GitDeps {
  readonly commands: Commands;
  readonly fs: Fs;
  readonly clock: Clock;
  /** Of the user: PATH, HOME and XDG_CONFIG_HOME are taken from it, nothing else. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Settings that win over every file, so that nothing a repository's configuration names is run: no hook, no fsmonitor, no pager, and no
 * transport, by which a partial clone would fetch what it lacks.
 */
const SETTINGS = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.untrackedCache", "false"],
  ["core.pager", "cat"],
  ["protocol.allow", "never"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
] as const;

/** Runs git's plumbing in one directory. */
export class Git {
  readonly deps: GitDeps;
  readonly directory: string;

  constructor(deps: GitDeps, directory: string) {
    this.deps = deps;
    this.directory = directory;
  }

  run(
    args: readonly string[],
    options: { readonly maxBytes?: number; readonly signal?: AbortSignal } = {},
  ): Promise<CommandResult> {
    return this.deps.commands.run({ ...this.command(args), ...options });
  }

  /** Just as `run` runs it, for a process that is talked to. */
  command(args: readonly string[]): {
    file: string;
    args: readonly string[];
    cwd: string;
    env: Readonly<Record<string, string>>;
  } {
    const settings = SETTINGS.flatMap(([key, value]) => ["-c", `${key}=${value}`]);
    return {
      file: "git",
      args: ["--no-pager", "--literal-pathspecs", "--no-replace-objects", ...settings, ...args],
      cwd: this.directory,
      env: this.#env(),
    };
  }

  #env(): Record<string, string> {
    const env: Record<string, string> = {
      LC_ALL: "C",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ALLOW_PROTOCOL: "none",
      GIT_NO_LAZY_FETCH: "1",
      GIT_PAGER: "cat",
    };
    for (const name of ["PATH", "HOME", "XDG_CONFIG_HOME"]) {
      const value = this.deps.env[name];
      if (value !== undefined) env[name] = value;
    }
    return env;
  }
}
