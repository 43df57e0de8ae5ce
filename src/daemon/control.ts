import * as fs from "node:fs";
import * as path from "node:path";
import type { DaemonOptions, HostPaths } from "../paths/index.ts";
import type { ClientFact, FeatureFact, HostControl } from "./api/index.ts";
import { GinError } from "./base/index.ts";
import type { Hosting } from "./hosting.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Store } from "./store/index.ts";

/** What the control of the running daemon is made of. */
export interface ControlDeps {
  readonly paths: HostPaths;
  readonly mode: DaemonOptions["mode"];
  readonly store: Store;
  readonly hosting: Hosting;
  readonly sqlite: string;
  readonly features: readonly FeatureFact[];
  /** Open connections, over all listeners. */
  readonly connections: () => number;
  /** Who is connected, over all listeners. */
  readonly clients: () => readonly ClientFact[];
  /** "" while no TCP port is open. */
  readonly endpoint: () => string;
  readonly lifecycle: () => Lifecycle;
}

/** The daemon as the api's administration sees it. */
export function createControl(deps: ControlDeps): HostControl {
  const { paths, hosting } = deps;
  return {
    workspaces: () => hosting.workspaces(),
    open: (input) => hosting.open(input),
    close: (hosted, remember) => hosting.close(hosted, remember),
    relink: (hosted, directory, remember) => hosting.relink(hosted, directory, remember),
    trust: (hosted, trusted, remember) => hosting.trust(hosted, trusted, remember),
    remove: (hosted, remember) => hosting.remove(hosted, remember),
    features: () => deps.features,
    facts: () => ({
      pid: process.pid,
      uptimeMs: Math.round(process.uptime() * 1_000),
      host: paths.host,
      data: paths.data,
      socket: paths.socket,
      endpoint: deps.endpoint(),
      residentBytes: process.memoryUsage.rss(),
      connections: deps.connections(),
      mode: deps.mode,
      node: process.versions.node,
      sqlite: deps.sqlite,
      draining: deps.lifecycle().draining,
      clients: deps.clients(),
    }),
    async backup(directory) {
      if (!path.isAbsolute(directory) || directory.includes("\0")) throw badDirectory("the directory must be an absolute path");
      if (fs.lstatSync(directory, { throwIfNoEntry: false }) !== undefined)
        throw badDirectory("something is at that path already");
      hosting.refuseBackupInto(directory);
      return await deps.store.write("backup", { directory });
    },
    shutdown: (drainMs) => deps.lifecycle().end(drainMs, "Shutdown"),
  };
}

function badDirectory(message: string): GinError {
  return new GinError("INVALID_REQUEST", message, "name a directory that does not exist yet", { facts: { field: "directory" } });
}
