import { ProtocolError, ProtocolErrorCode, Server, type ServerContext, type Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { VERSION } from "../paths/index.ts";
import type { ToolAnswer, ToolCall } from "./calls/call.ts";
import type { Listed } from "./catalog/listed.ts";
import type { Callable } from "./catalog/types.ts";
import type { StdioTransport } from "./transport/stdio.ts";

/** Milliseconds a host may keep what changes with the installation only. */
const CACHE_MS = 300_000;

/** Milliseconds between progress notifications, for hosts that ask for them: some give up on a call they hear nothing of. */
const PROGRESS_MS = 5_000;

/** Subscriptions a host may hold open; none of them ever brings news. */
const SUBSCRIPTIONS_MAX = 32;

const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

/** What the protocol serves: the tools and the one function that runs them. */
export interface Served {
  readonly instructions: string;
  /** The tools, for a host of that name. Never throws. */
  list(client: string | undefined): readonly Listed[] | Promise<readonly Listed[]>;
  /** The tool of a name; undefined when this profile has none. */
  find(name: string): Callable | undefined;
  call(tool: Callable, call: ToolCall): Promise<ToolAnswer>;
  /** Where the list depends on the daemon: calls back when one that was given is out of date. */
  readonly onListChange?: (listener: () => void) => void;
}

/**
 * The only module that knows the MCP SDK: both eras (2026-07-28 and the revisions from 2024-11-05 on) on one transport. The SDK makes a
 * server for the probe and one for the conversation, so a server holds nothing.
 */
export function serveProtocol(transport: StdioTransport, served: Served): { close(): Promise<void> } {
  // The shapes agree; the SDK's callbacks are generic over its message types, which this transport never looks into.
  return serveStdio(() => serverOf(served), {
    transport: transport as unknown as Transport,
    maxSubscriptions: SUBSCRIPTIONS_MAX,
  });
}

function serverOf(served: Served): Server {
  const hint = { ttlMs: CACHE_MS, cacheScope: "public" } as const;
  const changes = served.onListChange !== undefined;
  const server = new Server(
    { name: "gin", title: "gin", version: VERSION },
    {
      capabilities: { tools: changes ? { listChanged: true } : {} },
      instructions: served.instructions,
      cacheHints: { "server/discover": hint, "tools/list": changes ? { ttlMs: 0, cacheScope: "private" } : hint },
    },
  );
  served.onListChange?.(() => {
    server.sendToolListChanged().catch(() => {
      // The server of a probe, or of a conversation that ended: nobody is there to be told.
    });
  });
  server.setRequestHandler("tools/list", async (request, context) => {
    if (request.params?.cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid cursor: there is one page");
    return { tools: [...(await served.list(clientOf(server, context)))] };
  });
  server.setRequestHandler("tools/call", async (request, context) => {
    const { name } = request.params;
    const tool = served.find(name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`);
    const stopProgress = startProgress(context);
    try {
      const call = { arguments: request.params.arguments, signal: context.mcpReq.signal, client: clientOf(server, context) };
      const { texts, isError, images = [], structured } = await served.call(tool, call);
      const content = [
        ...texts.map((text) => ({ type: "text" as const, text })),
        ...images.map((image) => ({ type: "image" as const, ...image })),
      ];
      return { content, ...(structured !== undefined && { structuredContent: structured }), ...(isError && { isError }) };
    } finally {
      stopProgress();
    }
  });
  return server;
}

/** The host's name: of the request itself in the modern era, of the handshake before. */
function clientOf(server: Server, context: ServerContext): string | undefined {
  const envelope: { readonly [key: string]: unknown } = { ...context.mcpReq.envelope };
  const info = envelope[CLIENT_INFO] ?? server.getClientVersion();
  return typeof info === "object" && info !== null && "name" in info && typeof info.name === "string" ? info.name : undefined;
}

/** Says now and then that the call still runs, if the host asked to hear it. */
function startProgress(context: ServerContext): () => void {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    if (context.mcpReq.signal.aborted) return;
    progress += 1;
    context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } }).catch(() => {
      // The conversation ended meanwhile; the call's own answer meets the same end.
      clearInterval(timer);
    });
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}
