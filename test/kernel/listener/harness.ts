import { EventEmitter, on } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import { type Caller, GinError, type Log, SCOPES, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import { callerKey, createListener, type Listener, type ListenerOptions } from "../../../src/daemon/listener/index.ts";
import { createGate, createTokens, type Tokens } from "../../../src/daemon/policy/index.ts";
import type { TokenRow } from "../../../src/daemon/store/index.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";

/** A log that keeps its lines, to be searched for secrets. */
export function recordingLog(): Log & {
  readonly lines: string[];
  /** Resolves with the next line that begins so, said from now on. */
  next(beginning: string): Promise<string>;
} {
  const lines: string[] = [];
  const said = new EventEmitter();
  const add = (facts: object, message: string) => {
    const line = `${message} ${JSON.stringify(facts, (_key, value) => (value instanceof Error ? `${value.stack}` : value))}`;
    lines.push(line);
    said.emit("line", line);
  };
  const next = async (beginning: string): Promise<string> => {
    for await (const [line] of on(said, "line")) if (String(line).startsWith(beginning)) return String(line);
    throw new Error("the log ended");
  };
  return { lines, next, debug: add, info: add, warn: add, error: add };
}

/** Token rows in memory: the listener's tests do not test the store. */
export function memoryTokens(log: Log): Tokens {
  const rows: TokenRow[] = [];
  return createTokens({
    store: { write: () => Promise.resolve(null as never), read: { tokens: () => rows } },
    clock: systemClock,
    random: systemRandom,
    log,
  });
}

export const owner: Caller = {
  principal: "owner",
  transport: "socket",
  scopes: new Set(SCOPES),
  workspaces: undefined,
  paths: undefined,
  tokenId: undefined,
  client: "test",
};

/** What tests steer the service with. */
export interface Service {
  /** Resolves calls of Explain, which wait otherwise. */
  release: () => void;
  /** Signals of waiting Explain calls. */
  readonly waiting: AbortSignal[];
  /** Messages that reached a handler. */
  handled: number;
}

function routesOf(service: Service): (router: ConnectRouter) => void {
  return (router) => {
    router.service(GinService, {
      readPath: (request, context) => {
        service.handled++;
        if (request.path === "boom") throw new Error("secret inside");
        if (request.path === "stale")
          throw new GinError("PATH_NOT_FOUND", "nothing is there", undefined, { facts: { path: request.path } });
        return { path: request.path, sha256: context.values.get(callerKey).principal, text: "x".repeat(request.limit) };
      },
      save: (request) => {
        service.handled++;
        return { checkpoint: `ck_${request.edits.length}` };
      },
      explain: async (_request, context) => {
        service.waiting.push(context.signal);
        await new Promise<void>((resolve) => {
          const before = service.release;
          service.release = () => {
            before();
            resolve();
          };
          context.signal.addEventListener("abort", () => resolve());
        });
        return {};
      },
    });
  };
}

/** A listener with a small service, real tokens and a directory of its own. */
export interface Harness {
  readonly listener: Listener;
  readonly service: Service;
  readonly directory: string;
  readonly log: ReturnType<typeof recordingLog>;
  readonly tokens: Tokens;
  /** A token of "agent-7" with read and save. */
  readonly token: string;
  readonly tokenId: string;
  close(): Promise<void>;
}

export async function start(options: Partial<ListenerOptions> = {}): Promise<Harness> {
  const log = recordingLog();
  const tokens = memoryTokens(log);
  const { token, row } = await tokens.create(owner, { principal: "agent-7", scopes: ["read", "save"] });
  const service: Service = { release: () => {}, waiting: [], handled: 0 };
  const directory = mkdtempSync(join(tmpdir(), "gin-ls-"));
  const listener = createListener({
    routes: routesOf(service),
    gate: createGate({ tokens }),
    log,
    clock: systemClock,
    ...options,
  });
  listener.setServing(true);
  return {
    listener,
    service,
    directory,
    log,
    tokens,
    token,
    tokenId: row.id,
    async close() {
      await listener.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
