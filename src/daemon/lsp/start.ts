import type { Clock, Commands, Fs, Log, Programs, Random } from "../base/index.ts";
import { createDependencies, createMirror } from "./mirror/index.ts";
import { createPool } from "./pool/pool.ts";
import type { ServerOverride } from "./pool/types.ts";
import { createLsp } from "./room.ts";
import { createSession, residentBytes } from "./session/index.ts";
import { discover, leadsInside, safePath } from "./table/discover.ts";
import { launchOf } from "./table/launch.ts";
import { languageOf, SERVERS } from "./table/servers.ts";
import type { Lsp } from "./types.ts";

/** What the room stands on: ports, the daemon's own facts and the owner's settings. */
export interface StartDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly fs: Fs;
  readonly programs: Programs;
  readonly commands: Commands;
  /** Whether a path holds a protected name: such files outside are never read. */
  readonly isSensitive: (path: string) => boolean;
  /** The daemon's environment: PATH, and what servers are passed on. */
  readonly environment: { readonly [name: string]: string | undefined };
  /** Absolute roots of every workspace of the host, open or closed: nothing from below one is started. */
  readonly roots: () => readonly string[];
  /** Absolute directory of a package that gin brings along; undefined when it is not there. */
  readonly own: (name: string) => string | undefined;
  /** Absolute path of the Node that runs gin's own packages. */
  readonly node: string;
  /** Of this process. */
  readonly processId: number;
  /** Of gin. */
  readonly version: string;
  readonly overrides: { readonly [server: string]: ServerOverride | undefined };
  /** Resident bytes all servers together may take. */
  readonly memoryBytes: number;
  /** Milliseconds without a question after which one is ended. */
  readonly idleMs: number;
  /** How many may be starting at a time. */
  readonly startsAtOnce: number;
}

/** The room over the table of servers, real processes and mirrors. Nothing is started before it is asked. */
export function startLsp(deps: StartDeps): Lsp {
  const { clock, log, fs, programs, commands, environment, roots, overrides } = deps;
  const finding = { programs, path: environment.PATH ?? "", roots, own: deps.own, node: deps.node, overrides };
  const pool = createPool({
    clock,
    log,
    table: SERVERS,
    discover: (spec) => discover(spec, finding),
    disabled: ({ id }) => overrides[id]?.disabled === true,
    launch: (spec, found, workspace, folder) =>
      launchOf(spec, found, workspace, folder, {
        environment,
        path: () => safePath(finding),
        inside: (value) => leadsInside(value, finding),
        overrides,
      }),
    session: (launch) => createSession(launch, { clock, commands, log, processId: deps.processId, version: deps.version }),
    dependencies: (workspace, folder) => createDependencies({ fs, root: workspace.root, folders: ["", folder] }),
    mirror: ({ run, workspace, spec, folder, since, dependencies, stop }) =>
      createMirror({
        run,
        workspace,
        clock,
        server: spec.id,
        since,
        languageId: (path) => languageOf(spec, path) ?? "plaintext",
        stop,
        folder,
        beside: spec.beside !== undefined,
        ...(dependencies === undefined ? {} : { dependencies }),
        aliases: aliasesOf(programs, workspace.root),
      }),
    resident: async (leaders) => residentBytes(fs, leaders),
    memoryBytes: deps.memoryBytes,
    idleMs: deps.idleMs,
    startsAtOnce: deps.startsAtOnce,
  });
  return createLsp({ pool, clock, random: deps.random, fs, programs, isSensitive: deps.isSensitive, roots });
}

/** Servers that resolve symlinks speak of the root by its real path. */
function aliasesOf(programs: Programs, root: string): readonly string[] {
  const real = programs.realpath(root);
  return real === undefined || real === root ? [] : [real];
}
