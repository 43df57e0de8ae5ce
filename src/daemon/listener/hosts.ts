import { isIPv4 } from "node:net";
import { GinError } from "../base/index.ts";

/** Which Host or :authority values an address answers to. */
export type HostCheck = (host: string | undefined) => boolean;

/** The socket answers to any: nobody reaches it by a name. */
export const anyHost: HostCheck = () => true;

/**
 * A TCP address answers to loopback literals, "localhost", the literal it is bound to and the names given, each with its
 * port. Names are compared whole, so neither a trailing dot nor "127.evil.com" passes.
 */
export function hostCheck(bound: string, port: number, tls: boolean, allowed: readonly string[]): HostCheck {
  const exact = new Set(allowed.map((entry) => entry.toLowerCase()));
  const implied = tls ? 443 : 80;
  const literal = bound.includes(":") ? `[${bound}]` : bound;
  return (host) => {
    if (host === undefined) return false;
    const given = host.toLowerCase();
    if (exact.has(given) && /:\d+$/.test(given)) return true;
    const match = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(given);
    if (match === null) return false;
    const name = match[1] ?? "";
    if (Number(match[2] ?? implied) !== port) return false;
    return name === "localhost" || name === "[::1]" || name === literal || isLoopback4(name) || exact.has(name);
  };
}

function isLoopback4(name: string): boolean {
  return isIPv4(name) && name.startsWith("127.");
}

/** True for addresses that only this machine reaches. */
export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || isLoopback4(address);
}

/** Throws HOST_FORBIDDEN or ORIGIN_FORBIDDEN. `origin` is the header, if there is one. */
export function checkOrigin(origin: string | null, allowed: ReadonlySet<string>): void {
  if (origin === null || allowed.has(origin)) return;
  throw new GinError("ORIGIN_FORBIDDEN", "calls from this origin are not taken");
}
