import { readFileSync } from "node:fs";
import {
  compareVersions,
  type HostPaths,
  locateHost,
  PROTOCOL,
  readMetadata,
  readTokenFile,
  VERSION,
} from "../../paths/index.ts";
import { type CallOptions, DEFAULT_TIMEOUT_MS } from "./channel.ts";
import type { GinClient } from "./client.ts";
import { type JsonObject, NotSentError, UsageError } from "./errors.ts";
import type { SessionOptions } from "./flags.ts";
import type { WatchOptions } from "./follow.ts";
import { type ClientOptions, JsonClient, onlyOperation } from "./http.ts";
import type { Target } from "./post.ts";
import { resolveRoot } from "./root.ts";

/** Errnos of a connection that tell that no daemon is there. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * A conversation with a host's daemon: finds it, starts it where that is allowed, opens `root` on first use and fills in which workspace is
 * meant. Nothing happens before the first call. A daemon that ended meanwhile is started again by the next call.
 */
export class Session {
  /** Where the host's things are; undefined when an endpoint was given. */
  readonly paths: HostPaths | undefined;
  readonly #options: SessionOptions;
  readonly #identity: Omit<ClientOptions, "target">;
  readonly #endpoint: Target | undefined;
  #json: JsonClient;
  #skewSeen = false;
  #address: Promise<JsonObject> | undefined;

  /** Use `openSession`. `endpoint` is left out for the host's own socket. */
  constructor(options: SessionOptions, identity: Omit<ClientOptions, "target">, where: HostPaths | Target) {
    this.#options = options;
    this.#identity = identity;
    this.paths = "host" in where ? where : undefined;
    this.#endpoint = "host" in where ? undefined : where;
    this.#json = new JsonClient(this.#clientOptions());
  }

  /** One `gin.v1.Request`, with its workspace filled in where it names none; gives the whole Response. See JsonClient.call. */
  async call(request: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    const [operation, message] = onlyOperation(request);
    const addressed = await this.#addressed(message);
    return await this.#reach(() => this.#json.call({ [operation]: addressed }, options));
  }

  /** One operation by its field in Request; gives the response message. See JsonClient.run. */
  async run(operation: string, message: JsonObject = {}, options: CallOptions = {}): Promise<JsonObject> {
    const addressed = await this.#addressed(message);
    const run = () => this.#reach(() => this.#json.run(operation, addressed, options));
    const { onImporting, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    if (onImporting === undefined) return await run();
    const { whileImporting } = await import("./importing.ts");
    return await whileImporting(run, onImporting, timeoutMs);
  }

  /** One RPC of AdminService; the message is sent as it is. See JsonClient.admin. */
  async admin(method: string, message: JsonObject = {}, options: CallOptions = {}): Promise<JsonObject> {
    return await this.#reach(() => this.#json.admin(method, message, options));
  }

  /**
   * Watch, with the workspace filled in: its messages as they come, over breaks and restarts of the daemon (WatchOptions). A daemon is
   * started for the first attempt only: whoever stops it later is not worked against. Throws as a call does.
   */
  async *watch(message: JsonObject = {}, options: WatchOptions = {}): AsyncGenerator<JsonObject> {
    const addressed = await this.#addressed(message);
    const { follow } = await import("./follow.ts");
    const { since = "" } = addressed;
    yield* follow(
      (cursor, again) => this.#stream({ ...addressed, since: cursor }, again, options.signal),
      String(since),
      options,
    );
  }

  /** Makes sure that a daemon answers, and gives its version. Throws as a call does. */
  async ready(): Promise<string> {
    await this.admin("Status");
    return this.#json.serverVersion ?? "";
  }

  /** Fields that name the workspace of this session's calls: `repository` and `workspace`, or none. Opens `root` on first use. */
  async address(): Promise<JsonObject> {
    this.#address ??= this.#resolveAddress();
    try {
      return await this.#address;
    } catch (thrown) {
      this.#address = undefined;
      throw thrown;
    }
  }

  /** The typed client on the same daemon, which is started if need be. Its messages must name their workspace: see `address`. */
  async client(): Promise<GinClient> {
    await this.ready();
    const { createClient } = await import("./protobuf.ts");
    return createClient(this.#clientOptions());
  }

  /** Version of the daemon as its last answer told it. */
  get serverVersion(): string | undefined {
    return this.#json.serverVersion;
  }

  /** Closes the connections. The session may be used again. */
  close(): void {
    this.#json.close();
  }

  /** One stream. The first of all reaches the daemon as a call does, which is known once its first message is there. */
  async *#stream(message: JsonObject, again: boolean, signal: AbortSignal | undefined): AsyncGenerator<JsonObject> {
    if (again) {
      // The daemon may listen elsewhere by now. Calls that run keep their connections: a stream has one of its own.
      yield* new JsonClient(this.#clientOptions()).watch(message, { signal });
      return;
    }
    const { messages, first } = await this.#reach(async () => {
      const messages = this.#json.watch(message, { signal });
      return { messages, first: await messages.next() };
    });
    try {
      if (first.done !== true) yield first.value;
      yield* messages;
    } finally {
      await messages.return(undefined);
    }
  }

  /** A daemon that was started with other variables may have published another socket than the one this session knew. */
  #reconnect(): void {
    this.#json.close();
    this.#json = new JsonClient(this.#clientOptions());
  }

  #clientOptions(): ClientOptions {
    const { paths } = this;
    const socket = paths === undefined ? undefined : (readMetadata(paths.metadata)?.socket ?? paths.socket);
    const target = socket === undefined ? this.#endpoint : { socketPath: socket };
    if (target === undefined) throw new UsageError("a session needs a host or an endpoint");
    return { ...this.#identity, target };
  }

  async #addressed(message: JsonObject): Promise<JsonObject> {
    if (typeof message.workspace === "string" && message.workspace !== "") return message;
    return { ...message, ...(await this.address()) };
  }

  async #resolveAddress(): Promise<JsonObject> {
    const { root, repository, workspace } = this.#options;
    if (root !== undefined) return await resolveRoot(this, root, repository);
    return { ...(repository !== undefined && { repository }), ...(workspace !== undefined && { workspace }) };
  }

  async #reach<T>(attempt: () => Promise<T>): Promise<T> {
    const { paths } = this;
    if (paths !== undefined && !this.#skewSeen) await this.#settleSkew(paths);
    try {
      const answer = await attempt();
      if (paths === undefined && !this.#skewSeen) this.#noticeSkew(this.#json.serverVersion);
      return answer;
    } catch (thrown) {
      const absent = thrown instanceof NotSentError && !thrown.sent && ABSENT.has(thrown.code);
      if (!absent || paths === undefined || this.#options.noSpawn === true) throw thrown;
    }
    const { startDaemon } = await import("./start.ts");
    await startDaemon(paths, this.#options);
    this.#reconnect();
    return await attempt();
  }

  /**
   * What the daemon published of itself tells its version without a round trip. An older daemon that was started on demand is replaced
   * (drained, never killed); one that somebody runs in the foreground has flags of its own and is left to that person.
   */
  async #settleSkew(paths: HostPaths): Promise<void> {
    this.#skewSeen = true;
    const daemon = readMetadata(paths.metadata);
    if (daemon === undefined || daemon.protocol !== PROTOCOL) return;
    const newer = compareVersions(VERSION, daemon.version) > 0;
    if (newer && daemon.mode === "on_demand" && this.#options.noSpawn !== true) {
      const { replaceDaemon } = await import("./start.ts");
      const stopped = await replaceDaemon(paths, this.#options, this.#json);
      this.#reconnect();
      if (stopped) this.#options.onNotice?.(`gin ${daemon.version} was drained and gin ${VERSION} started in its place`);
      return;
    }
    this.#noticeSkew(daemon.version);
  }

  #noticeSkew(version: string | undefined): void {
    this.#skewSeen = true;
    if (version === undefined || !/^\d+\.\d+/.test(version)) return;
    const difference = compareVersions(VERSION, version);
    if (difference < 0) this.#options.onNotice?.(`the daemon is gin ${version}, newer than this client (${VERSION})`);
    if (difference > 0) this.#options.onNotice?.(`the daemon is gin ${version}, older than this client (${VERSION}): restart it`);
  }
}

/**
 * Prepares a session; nothing is sent before its first call. Throws UsageError for an endpoint that is none and for files that cannot be
 * read, TokenFileError for a token file that is none or open to others, PathsError where the host has no usable place.
 */
export function openSession(options: SessionOptions): Session {
  const token = options.tokenFile === undefined ? undefined : readTokenFile(options.tokenFile);
  const { client, principal, timeoutMs, oneShot } = options;
  const identity = { client, principal, token, timeoutMs, oneShot };
  return new Session(options, identity, options.endpoint === undefined ? locateHost(located(options)) : targetOf(options));
}

function located(options: SessionOptions): { host?: string; data?: string } {
  return { ...(options.host !== undefined && { host: options.host }), ...(options.data !== undefined && { data: options.data }) };
}

function targetOf(options: SessionOptions): Target {
  const endpoint = options.endpoint ?? "";
  if (endpoint.startsWith("unix:")) return { socketPath: endpoint.slice("unix:".length).replace(/^\/\/(?=\/)/, "") };
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`--endpoint takes http://HOST:PORT, https://HOST:PORT or unix:PATH, not "${endpoint}"`);
  }
  if (url.username !== "" || url.password !== "") throw new UsageError("an endpoint holds no secret: use --token-file");
  const file = (name: string | undefined, flag: string): string | undefined =>
    name === undefined ? undefined : readText(name, flag);
  return {
    url,
    tls: {
      ca: file(options.caFile, "--ca-file"),
      cert: file(options.certFile, "--cert-file"),
      key: file(options.keyFile, "--key-file"),
    },
  };
}

function readText(file: string, flag: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
    throw new UsageError(`${flag} ${file} cannot be read (${code})`);
  }
}
