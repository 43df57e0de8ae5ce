// The daemon's entry and composition root: the only place that constructs the rooms and hands them to one another.
import {
  type Config,
  type DaemonOptions,
  type HostPaths,
  locateHost,
  mergeConfig,
  PROTOCOL,
  parseDaemonOptions,
  parseRestoreOptions,
  processStart,
  readConfig,
  VERSION,
  writeMetadata,
} from "../paths/index.ts";
import { createAnnotations } from "./annotation/index.ts";
import { announce, explain, failStart } from "./announce.ts";
import { createApi } from "./api/index.ts";
import { aroundOf } from "./around.ts";
import { type Clock, GinError, nodeFs, noFailPoints, systemClock, systemRandom, toGinError } from "./base/index.ts";
import { createControl } from "./control.ts";
import { featuresOf } from "./features.ts";
import { createAnchors, createDiffer, createMerger, createOrigins } from "./history/index.ts";
import {
  type DaemonLog,
  dataIdentity,
  type HeldLock,
  identify,
  openLog,
  prepareHost,
  readMachine,
  takeHost,
  watchIdle,
} from "./host/index.ts";
import { Hosting } from "./hosting.ts";
import { startServers, withWorkspaces } from "./language-servers.ts";
import { createLeases } from "./lease/index.ts";
import { Lifecycle } from "./lifecycle.ts";
import { openTcp } from "./listen.ts";
import { callerKey, createListener, type Listener } from "./listener/index.ts";
import { refreshLocalToken } from "./local-token.ts";
import { createMemory } from "./memory/index.ts";
import { createGate, createTokens, mayTouch } from "./policy/index.ts";
import { createSearch } from "./search/index.ts";
import { createCollector, openStore, sqliteVersion, takeLock } from "./store/index.ts";
import { createWorkspace, type FilesFeatures, openRoot as openConfined } from "./workspace/index.ts";

const clock: Clock = systemClock;
const random = systemRandom;

/** How often gin looks after what is not urgent: WAL, old rows, claims, the local token. */
const UPKEEP_MS = 60_000;
const CLAIMS_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Starts and serves until told to end; the process's exit is the only way out. */
async function runDaemon(options: DaemonOptions): Promise<void> {
  const paths = locateHost(options);
  prepareHost(paths);
  const { config } = mergeConfig(options.settings, process.env, readConfig(paths.config));
  const log = openLog({
    file: paths.log,
    level: config.log_level,
    maxBytes: config.log_bytes,
    stderr: options.mode === "foreground",
  });
  failStop(log);
  noticeOldNode(log);
  const lock = await takeHostWithin(options.lock_wait_ms, paths);
  try {
    await serve(options, paths, config, log, lock);
  } catch (thrown) {
    log.error({ err: thrown }, "the daemon could not start");
    throw thrown;
  }
}

async function serve(options: DaemonOptions, paths: HostPaths, config: Config, log: DaemonLog, lock: HeldLock): Promise<void> {
  const store = await openStore({ directory: paths.data });
  const { boot, machine } = readMachine();
  const { renewed } = await store.write("takeover", {
    machine,
    hostIdentity: dataIdentity(paths.data),
    incarnations: store.read.workspaces().map(() => random.id("in")),
    leaseIncarnation: random.id("li"),
  });
  if (renewed) log.info({}, "the store came from elsewhere: workspaces have new incarnations");

  const merger = createMerger();
  const differ = createDiffer();
  const origins = createOrigins({ store, differ, clock, log });
  const lines = createAnchors({ store, differ, clock });
  const annotations = createAnnotations({ store, lines, mayTouch, clock, random, log });
  const memory = createMemory({ store, clock, log });
  const search = createSearch({ directory: paths.data, clock });
  const leases = createLeases({ store, clock, random });
  const garbage = createCollector({
    store,
    clock,
    log,
    quotaBytes: config.quota_bytes,
    checkpointMs: config.checkpoint_days * DAY_MS,
    checkpointCount: config.checkpoint_count,
    keepOrigin: (workspace, path, generation, signal) => origins.keepSpans(workspace, path, generation, signal),
    importing: () => hosting.importing(),
  });
  const servers = startServers(config, () => hosting.workspaces().map(({ root }) => root), { clock, random, log });
  const hosting = new Hosting({
    paths,
    store,
    leases,
    random,
    log,
    takeLock,
    detachServers: (rowid) => servers.detach(rowid),
    openEngine: (row) =>
      createWorkspace({
        row,
        store,
        leases,
        merger,
        clock,
        random,
        log,
        boot,
        failPoints: noFailPoints,
        durability: config.durability,
        rootOptions: { sensitive: config.sensitive },
        import: true,
        around: aroundOf(row, config, { clock, log }),
      }),
  });
  await hosting.recover();
  for (const root of options.roots) await openRoot(hosting, root);

  const tokens = createTokens({ store, clock, random, log });
  let listener: Listener | undefined;
  let endpoint = "";
  const control = createControl({
    paths,
    mode: options.mode,
    store,
    hosting,
    sqlite: sqliteVersion(),
    features: featuresOf(config, filesFeatures(paths.tokens)),
    connections: () => listener?.stats().connections ?? 0,
    clients: () => listener?.clients() ?? [],
    endpoint: () => endpoint,
    lifecycle: () => lifecycle,
  });
  const api = createApi({
    clock,
    random,
    log,
    store,
    leases,
    garbage,
    differ,
    origins,
    annotations,
    memory,
    search,
    lsp: withWorkspaces(servers, store, (rowid) => hosting.workspaces().find((one) => one.rowid === rowid)),
    host: control,
    tokens,
    callerOf: (values) => values.get(callerKey),
    version: VERSION,
    requireLease: config.require_lease,
  });
  const listening = createListener({
    routes: (router) => api.routes(router),
    gate: createGate({ tokens, config: { protocol: PROTOCOL } }),
    log,
    clock,
    server: `gin/${VERSION}`,
    protocol: PROTOCOL,
    allowHosts: config.allow_hosts,
    allowOrigins: config.allow_origins,
  });
  listener = listening;
  tokens.onRevoke((id) => listening.endToken(id));
  const lifecycle = new Lifecycle({
    drain: (ms) => listening.drain(ms),
    closeListener: () => listening.close(),
    close: [
      () => garbage.close(),
      () => servers.close(),
      () => hosting.closeAll(),
      () => leases.close(),
      () => merger.close(),
      () => differ.close(),
      () => search.close(),
      () => store.close(),
    ],
    metadataFile: paths.metadata,
    release: () => lock.release(),
    log,
  });

  await listening.listenSocket(paths.socket);
  const bound = options.mode === "on_demand" ? undefined : await openTcp(listening, config);
  endpoint = bound?.url ?? "";
  if (bound !== undefined) await refreshLocalToken(paths.localToken, tokens, clock);
  writeMetadata(paths.metadata, {
    pid: process.pid,
    process_start: processStart(process.pid),
    started_ms: clock.wallMs(),
    version: VERSION,
    protocol: PROTOCOL,
    socket: paths.socket,
    endpoint,
    mode: options.mode,
  });
  lifecycle.onSignals();
  listening.setServing(true);
  every(UPKEEP_MS, log, () => garbage.tend());
  // By itself: a store that gc finds damaged must not lock the clients of the other workspaces out after a month.
  if (bound !== undefined) every(UPKEEP_MS, log, () => refreshLocalToken(paths.localToken, tokens, clock));
  every(CLAIMS_MS, log, async () => hosting.touchClaims());
  if (options.mode === "on_demand") {
    watchIdle({
      clock,
      idleMs: config.idle_ms,
      inUse: () => listening.stats().connections > 0 || api.running() > 0 || hosting.leases() > 0 || hosting.busySaves() > 0,
      onIdle: () => lifecycle.end(0, "idle"),
    });
  }
  const [first] = options.roots.length > 0 ? options.roots.map((root) => hosting.enclosing(root)) : hosting.workspaces();
  log.info({ socket: paths.socket, endpoint, workspaces: hosting.workspaces().length, mode: options.mode }, "serving");
  announce(
    {
      ready: true,
      endpoint,
      socket: paths.socket,
      token_file: bound === undefined ? "" : paths.localToken,
      repository: first?.repository ?? "",
      workspace: first?.id ?? "",
      version: VERSION,
    },
    options,
  );
}

/** What the files room can do here, asked of a directory that is gin's own. */
function filesFeatures(directory: string): FilesFeatures {
  const root = openConfined(directory, { fs: nodeFs, random, failPoints: noFailPoints });
  root.close();
  return root.features;
}

/** `--root SUB` selects the workspace around it; anything else is opened, and has to be served. */
async function openRoot(hosting: Hosting, root: string): Promise<void> {
  const around = hosting.enclosing(root);
  if (around !== undefined && around.root !== identify(root).path) return;
  await hosting.open({ root, name: undefined, repository: undefined });
}

/** Takes the host, waiting for a daemon that is just leaving it. */
async function takeHostWithin(waitMs: number, paths: HostPaths): Promise<HeldLock> {
  const until = clock.monotonicMs() + waitMs;
  for (;;) {
    try {
      return takeHost(paths, takeLock);
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason !== "BUSY" || clock.monotonicMs() >= until) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A fault nobody caught leaves memory in doubt: the process ends, and recovery starts from what is on disk. */
function failStop(log: DaemonLog): void {
  process.on("uncaughtException", (thrown) => {
    log.error({ err: thrown }, "an uncaught fault ends the daemon");
    process.exit(1);
  });
}

function noticeOldNode(log: DaemonLog): void {
  if (Number.parseInt(process.versions.node, 10) <= 20) {
    log.warn(
      { node: process.versions.node },
      "Node 20 gets no security fixes since April 2026; gin runs on it, Node 22 or newer is advised",
    );
  }
}

function every(ms: number, log: DaemonLog, work: () => Promise<void>): void {
  setInterval(() => {
    work().catch((thrown: unknown) => {
      log.warn({ err: thrown }, "upkeep did not finish");
      // The store's thread is gone, and with it every later save: a new process recovers, this one cannot.
      if (toGinError(thrown).reason === "INTERNAL") process.exit(1);
    });
  }, ms).unref();
}

/** `daemon.mjs restore OPTIONS`: no daemon, but the one program beside it that may write a store. */
async function runRestore(text: string): Promise<void> {
  try {
    const { restore } = await import("./restore.ts");
    announce(restore(parseRestoreOptions(text), new Date(clock.wallMs())), {});
  } catch (thrown) {
    const { reason, message, suggestion } = explain(thrown);
    announce({ restored: false, reason, message, suggestion }, {});
    process.exit(1);
  }
}

let options: DaemonOptions = parseDaemonOptions("{}");
try {
  if (process.argv[2] === "restore") {
    await runRestore(process.argv[3] ?? "{}");
    process.exit(0);
  }
  options = parseDaemonOptions(process.argv[2] ?? process.env.GIN_DAEMON_OPTIONS ?? "{}");
  await runDaemon(options);
} catch (thrown) {
  failStart(thrown, options);
}
