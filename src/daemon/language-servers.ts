import { createRequire } from "node:module";
import { availableParallelism, totalmem } from "node:os";
import { dirname } from "node:path";
import { type Config, VERSION } from "../paths/index.ts";
import type { Hosted, LanguageServers } from "./api/index.ts";
import { type Clock, type Log, nodeCommands, nodeFs, nodePrograms, type Random } from "./base/index.ts";
import { type Lsp, type LspWorkspace, startLsp } from "./lsp/index.ts";
import { lspWorkspace } from "./lsp-workspace.ts";
import type { Store } from "./store/index.ts";
import { guardOf, type Workspace } from "./workspace/index.ts";

/** Of the machine's memory, what language servers may take unless the owner says otherwise. */
const SHARE = 4;

/** The language servers of this process, over the machine's programs and the owner's settings. */
export function startServers(
  config: Config,
  roots: () => readonly string[],
  ports: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): Lsp {
  return startLsp({
    ...ports,
    fs: nodeFs,
    programs: nodePrograms,
    commands: nodeCommands,
    isSensitive: guardOf(config.sensitive),
    environment: process.env,
    roots,
    own: packageDirectory,
    node: process.execPath,
    processId: process.pid,
    version: VERSION,
    overrides: config.lsp_servers,
    memoryBytes: config.lsp_memory_bytes === 0 ? Math.floor(totalmem() / SHARE) : config.lsp_memory_bytes,
    idleMs: config.lsp_idle_ms,
    startsAtOnce: Math.max(2, Math.floor(availableParallelism() / 2)),
  });
}

/**
 * The room as the api asks it: one view of a workspace for as long as its actor and its trust stay, so that what is closed can be told apart. `current` tells a workspace as it is now:
 * a request that was admitted under another word than the owner's of now has servers under the one of now. Default: as the request says.
 */
export function withWorkspaces(
  lsp: Lsp,
  store: Store,
  current: (rowid: number) => Hosted | undefined = () => undefined,
): LanguageServers {
  const known = new WeakMap<Workspace, LspWorkspace>();
  return {
    ...lsp,
    of(asked: Hosted, workspace: Workspace): LspWorkspace {
      const hosted = current(asked.rowid) ?? asked;
      const before = known.get(workspace);
      if (before?.trusted === hosted.trusted) return before;
      const made = lspWorkspace(store, hosted, workspace);
      known.set(workspace, made);
      return made;
    },
  };
}

/** Where Node finds one of gin's own packages from this file; undefined when it is not installed. */
function packageDirectory(name: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}
