import { Agent, type RequestOptions, request } from "node:http";
import type { Target } from "./post.ts";

/** What makes requests to one daemon: node:http's `request` or node:https's, over connections of its own. */
export interface Requester {
  readonly agent: Agent;
  readonly request: typeof request;
  /** Where a path is, as `request` takes it. */
  address(path: string): RequestOptions & { servername?: string };
}

/** Opens what reaches a target; node:https is loaded for https alone. */
export async function openRequester(
  target: Target,
  options: { readonly keepAlive: boolean; readonly maxSockets?: number },
): Promise<Requester> {
  const address = (path: string) => addressOf(target, path);
  const scheduling = { scheduling: "lifo" } as const;
  if (!("url" in target) || target.url.protocol !== "https:") {
    return { agent: new Agent({ ...options, ...scheduling }), request, address };
  }
  const https = await import("node:https");
  const { ca, cert, key } = target.tls ?? {};
  const agent = new https.Agent({ ...options, ...scheduling, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
  return { agent, request: https.request as typeof request, address };
}

function addressOf(target: Target, path: string): RequestOptions & { servername?: string } {
  // An empty server name where there is no TLS: else Node compiles its address expressions to guess one, 8 ms of a short-lived client.
  if ("socketPath" in target) return { socketPath: target.socketPath, host: "localhost", path, servername: "" };
  const { hostname, port, pathname, protocol } = target.url;
  const prefix = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const plain = protocol === "http:" ? { servername: "" } : {};
  return { host: hostname.replace(/^\[|\]$/g, ""), port, path: prefix + path, ...plain };
}
