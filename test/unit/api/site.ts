import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createAnnotations } from "../../../src/daemon/annotation/index.ts";
import { type Api, createApi, type HostControl, type Hosted } from "../../../src/daemon/api/index.ts";
import { type Caller, type Clock, type Log, SCOPES, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import { createAnchors, createDiffer, createOrigins } from "../../../src/daemon/history/index.ts";
import { withWorkspaces } from "../../../src/daemon/language-servers.ts";
import { createLeases, type Leases } from "../../../src/daemon/lease/index.ts";
import { callerKey } from "../../../src/daemon/listener/index.ts";
import type { Lsp } from "../../../src/daemon/lsp/index.ts";
import { createMemory } from "../../../src/daemon/memory/index.ts";
import { createTokens, mayTouch } from "../../../src/daemon/policy/index.ts";
import { createSearch } from "../../../src/daemon/search/index.ts";
import { createCollector, type Store } from "../../../src/daemon/store/index.ts";
import type { Workspace } from "../../../src/daemon/workspace/index.ts";
import { noServers } from "../../helpers/lsp/none.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { fastTemp, openSite as openEngine } from "../../kernel/workspace/site.ts";

/** What a JSON call came back with. */
export interface Answer {
  readonly status: number;
  /** Connect's code of a refusal, "" for an answer. */
  readonly code: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever JSON came back
  readonly body: any;
  /** The ErrorDetail of a refusal, from Connect's debug form. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly error: any;
}

/** An api over a real store and a real workspace, served over real HTTP. */
export interface ApiSite {
  readonly directory: string;
  /** The workspace's directory. */
  readonly root: string;
  readonly url: string;
  readonly api: Api;
  readonly store: Store;
  readonly workspace: Workspace;
  readonly hosted: Hosted[];
  readonly logged: string[];
  /** Facts of the debug lines. */
  readonly debugged: object[];
  readonly shutdowns: number[];
  /** What a listener would hand over for a caller. */
  contextOf(name: string): ContextValues;
  /** One JSON call. `service` defaults to GinService. */
  call(method: string, body: unknown, options?: CallOptions): Promise<Answer>;
  /** One JSON call of an AdminService RPC. */
  admin(method: string, body: unknown, options?: CallOptions): Promise<Answer>;
  /** Raw bytes in, HTTP answer out. */
  raw(path: string, contentType: string, body: Uint8Array | string, options?: CallOptions): Promise<Response>;
  /** One binary call. */
  binary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>>;
  close(): Promise<void>;
}

/** Who calls, and until when. */
export interface CallOptions {
  /** Name in `callers`; default "owner". */
  readonly as?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Settings of a site. */
export interface SiteOptions {
  readonly directory?: string;
  /** Bytes of history; default 2 GiB. */
  readonly quotaBytes?: number;
  readonly requireLease?: "auto" | "always" | "never";
  readonly clock?: Clock;
  readonly callers?: { readonly [name: string]: Caller };
  readonly wrap?: (workspace: Workspace) => Workspace;
  /** Changes of leases kept for watchers; as the daemon keeps unless said. */
  readonly changesKept?: number;
  /** Language servers; none unless given. */
  readonly lsp?: Lsp;
  /** Whether the engine imports the whole tree, and what it is told of the disk. */
  readonly engine?: Pick<
    NonNullable<Parameters<typeof openEngine>[1]>,
    "import" | "ignore" | "watcher" | "git" | "fs" | "failPoints" | "boot" | "store" | "clock" | "around"
  >;
}

/** A caller with every right. */
export function caller(principal: string, over: Partial<Caller> = {}): Caller {
  return {
    principal,
    transport: "socket",
    scopes: new Set(SCOPES),
    workspaces: undefined,
    paths: undefined,
    tokenId: undefined,
    client: "test/1",
    ...over,
  };
}

/** A fresh directory in memory where there is such a place: these tests ask what is answered, not what survives. */
export function fastDir(): string {
  const directory = mkdtempSync(join(fastTemp, "gin-api-"));
  atTeardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a site; it is closed at teardown. Opening the same directory again is a restart. */
export async function openApi(options: SiteOptions = {}): Promise<ApiSite> {
  const directory = options.directory ?? fastDir();
  const clock = options.clock ?? systemClock;
  const logged: string[] = [];
  const debugged: object[] = [];
  const log: Log = {
    debug: (facts) => debugged.push(facts),
    info: () => {},
    warn: (facts, text) => logged.push(`${text} ${String((facts as { err?: unknown }).err)}`),
    error: (facts, text) => logged.push(`${text} ${(facts as { err?: Error }).err?.stack}`),
  };
  let leases: Leases | undefined;
  const engine = await openEngine(directory, {
    ...options.engine,
    leases: { judge: (...asked) => leases?.judge(...asked) },
  });
  const { store } = engine;
  const { changesKept } = options;
  leases = createLeases({ store, clock, random: systemRandom, ...(changesKept === undefined ? {} : { changesKept }) });
  leases.load(engine.workspace.rowid);
  const workspace = options.wrap?.(engine.workspace) ?? engine.workspace;
  const hosted: Hosted[] = store.read.workspaces().map((row) => ({
    rowid: row.rowid,
    id: row.id,
    name: row.name,
    repository: row.repository,
    repositoryName: row.repositoryName,
    root: row.root,
    trusted: row.trusted,
    workspace,
  }));
  const shutdowns: number[] = [];
  const differ = createDiffer();
  const search = createSearch({ directory: join(directory, "data"), clock, threads: 2 });
  const lines = createAnchors({ store, differ, clock });
  const origins = createOrigins({ store, differ, clock, log });
  const garbage = createCollector({
    store,
    clock: systemClock,
    log,
    quotaBytes: options.quotaBytes ?? 2 ** 31,
    checkpointMs: 90 * 86_400_000,
    checkpointCount: 100_000,
    readersMs: 0,
    keepOrigin: (workspace, path, generation, signal) => origins.keepSpans(workspace, path, generation, signal),
  });
  const api = createApi({
    clock,
    random: systemRandom,
    log,
    store,
    leases,
    garbage,
    differ,
    origins,
    annotations: createAnnotations({ store, lines, mayTouch, clock, random: systemRandom, log }),
    memory: createMemory({ store, clock, log }),
    search,
    lsp: withWorkspaces(options.lsp ?? noServers(), store),
    host: fakeHost(store, hosted, shutdowns),
    tokens: createTokens({ store, clock, random: systemRandom, log }),
    callerOf: (values) => values.get(callerKey),
    version: "9.9.9",
    requireLease: options.requireLease ?? "auto",
  });
  const callers: { readonly [name: string]: Caller } = { owner: caller("owner"), ...options.callers };
  const contextOf = (name: string): ContextValues => {
    const found = callers[name];
    return found === undefined ? createContextValues() : createContextValues().set(callerKey, found);
  };
  const handler = connectNodeAdapter({
    ...api.routerOptions,
    routes: api.routes,
    contextValues: (request) => contextOf(String(request.headers["x-caller"] ?? "owner")),
  });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    leases.close();
    await differ.close();
    await search.close();
    await engine.close();
  };
  const site: ApiSite = {
    directory,
    root: engine.workspace.root,
    url,
    api,
    store,
    workspace,
    hosted,
    logged,
    debugged,
    shutdowns,
    contextOf,
    raw: (path, contentType, body, how = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        body: typeof body === "string" ? body : Buffer.from(body),
        headers: {
          "content-type": contentType,
          "x-caller": how.as ?? "owner",
          ...(how.timeoutMs === undefined ? {} : { "connect-timeout-ms": String(how.timeoutMs) }),
        },
        ...(how.signal === undefined ? {} : { signal: how.signal }),
      }),
    call: (method, body, how) => callJson(site, `/gin.v1.GinService/${method}`, body, how),
    admin: (method, body, how) => callJson(site, `/gin.v1.AdminService/${method}`, body, how),
    async binary(method, request, how) {
      const bytes = toBinary(method.input, create(method.input, request));
      const answer = await site.raw(`/${method.parent.typeName}/${method.name}`, "application/proto", bytes, how);
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
      return fromBinary(method.output, new Uint8Array(await answer.arrayBuffer()));
    },
    close: () => (closed ??= close()),
  };
  atTeardown(() => site.close());
  return site;
}

async function callJson(site: ApiSite, path: string, body: unknown, how?: CallOptions): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return answerOf(await site.raw(path, "application/json", text, how));
}

/** A JSON answer, with the refusal's detail where there is one. */
export async function answerOf(response: Response): Promise<Answer> {
  const body = JSON.parse(await response.text());
  const error = response.status === 200 ? body.error : body.details?.[0]?.debug;
  return { status: response.status, code: response.status === 200 ? "" : body.code, body, error };
}

function fakeHost(store: Store, hosted: Hosted[], shutdowns: number[]): HostControl {
  return {
    workspaces: () => hosted,
    async open(input) {
      const first = hosted[0];
      if (first === undefined) throw new Error("no workspace");
      const opened = { hosted: first, created: false };
      await store.write("request", input.remember(opened));
      return opened;
    },
    async close(one, remember) {
      const closed = { ...one, workspace: undefined };
      hosted.splice(hosted.indexOf(one), 1, closed);
      await store.write("workspace.status", { rowid: one.rowid, status: "closed", request: remember(closed) });
      return closed;
    },
    async relink(one, directory, remember) {
      const relinked = { ...one, root: directory };
      hosted.splice(hosted.indexOf(one), 1, relinked);
      await store.write("workspace.status", {
        rowid: one.rowid,
        status: "active",
        root: directory,
        request: remember(relinked),
      });
      return relinked;
    },
    async trust(one, trusted, remember) {
      const changed = { ...one, trusted };
      hosted.splice(hosted.indexOf(one), 1, changed);
      await store.write("workspace.trust", { rowid: one.rowid, trusted, request: remember(changed) });
      return changed;
    },
    async remove(one, remember) {
      hosted.splice(hosted.indexOf(one), 1);
      await store.write("workspace.remove", { rowid: one.rowid, request: remember(one) });
      return one;
    },
    facts: () => ({
      pid: 1,
      uptimeMs: 2,
      host: "/h",
      data: "/d",
      socket: "/s",
      endpoint: "",
      residentBytes: 3,
      connections: 4,
      mode: "foreground",
      node: "v0",
      sqlite: "3",
      draining: false,
      clients: [
        {
          client: "gin-cli/0.1.0",
          principal: "ann",
          transport: "tcp",
          connectedMs: 1_500.4,
          requests: 3,
          running: 1,
          idleMs: 0,
        },
      ],
    }),
    features: () => [{ name: "path_confinement", value: "handle-walk", note: "" }],
    backup: async () => ({ bytes: 5 }),
    shutdown: (drainMs) => void shutdowns.push(drainMs),
  };
}
