import type { Config } from "../paths/index.ts";
import { type Clock, type Log, nodeCommands, nodeDirectoryWatch, nodeFs, toGinError } from "./base/index.ts";
import type { WorkspaceRow } from "./store/index.ts";
import { createIgnoreRules, createWatcher, type GitReader, type OpenWorkspaceDeps, readGit } from "./workspace/index.ts";

/** What tells a workspace of its surroundings: the repository it is in, what is not tracked, and what changes. */
export function aroundOf(
  row: WorkspaceRow,
  config: Pick<Config, "watcher">,
  ports: { readonly clock: Clock; readonly log: Log },
): NonNullable<OpenWorkspaceDeps["around"]> {
  const { clock, log } = ports;
  return async (root) => {
    const ignore = createIgnoreRules({ root, path: row.root, fs: nodeFs });
    const watcher = createWatcher({
      kind: config.watcher,
      root,
      path: row.root,
      ignored: (path, isDirectory) => ignore.ignored(path, isDirectory),
      fs: nodeFs,
      directories: nodeDirectoryWatch,
      clock,
      log,
    });
    // Not waited for: a daemon with many workspaces listens before git has been asked about each.
    return { ignore, watcher, git: gitOf(row, ports) };
  };
}

/** A repository that cannot be read is no reason not to serve the directory: then it is one without. */
async function gitOf(
  row: WorkspaceRow,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<GitReader | undefined> {
  try {
    const found = await readGit(row.root, { commands: nodeCommands, fs: nodeFs, clock, env: process.env });
    if (found.kind === "work-tree") return found.git;
    if (found.note !== "")
      log.warn({ workspace: row.id, note: found.note }, "the directory is served as one without a repository");
  } catch (thrown) {
    const error = toGinError(thrown);
    log.warn({ workspace: row.id, reason: error.reason, err: error.cause }, "the work tree's repository could not be read");
  }
  return undefined;
}
