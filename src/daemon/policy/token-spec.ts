import { type Caller, GinError, SCOPES, type Scope } from "../base/index.ts";
import { isPrincipal, OWNER } from "./principal.ts";
import { isBelow } from "./rights.ts";
import type { TokenSpec } from "./types.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Default life; tokens that can run commands or administer get a day. */
const DEFAULT_MS = 30 * DAY_MS;
const DEFAULT_STRONG_MS = DAY_MS;
const MAX_MS = 366 * DAY_MS;
/** Entries of `workspaces` and of `paths`. */
const MAX_ENTRIES = 100;

/** A spec that was checked: every default filled in. */
export interface CheckedSpec {
  readonly principal: string;
  readonly scopes: readonly Scope[];
  readonly workspaces: readonly string[];
  readonly paths: readonly string[];
  readonly lifeMs: number;
}

/** Checks a spec on its own and against its maker's rights. Throws GinError INVALID_REQUEST, SCOPE_FORBIDDEN. */
export function checkSpec(caller: Caller, spec: TokenSpec): CheckedSpec {
  const principal = checkPrincipal(spec.principal);
  const scopes = [...new Set(spec.scopes)].map(checkScope);
  if (scopes.length === 0) throw invalid("scopes", "a token needs at least one scope");
  const workspaces = [...new Set(spec.workspaces ?? [])];
  const paths = [...new Set((spec.paths ?? []).map(checkPrefix))];
  if (workspaces.length > MAX_ENTRIES) throw invalid("workspaces", `at most ${MAX_ENTRIES} workspaces`);
  if (paths.length > MAX_ENTRIES) throw invalid("paths", `at most ${MAX_ENTRIES} path prefixes`);
  if (workspaces.some((workspace) => workspace === "")) throw invalid("workspaces", "a workspace id is empty");
  const lifeMs = checkLife(spec.expiresInMs ?? 0, scopes);
  checkNoWider(caller, scopes, workspaces, paths);
  return { principal, scopes, workspaces, paths, lifeMs };
}

function checkPrincipal(name: string): string {
  if (!isPrincipal(name)) {
    throw invalid(
      "principal",
      "a principal is 1 to 64 letters, digits, dots, dashes or underscores, with at most one /sub-agent",
    );
  }
  if (name === OWNER || isBelow(name, OWNER)) {
    throw invalid("principal", "no token may act as the owner", "name the person or agent the token is for");
  }
  return name;
}

function checkScope(name: string): Scope {
  const scope = SCOPES.find((known) => known === name);
  if (scope === undefined) throw invalid("scopes", "a scope is not known", `scopes are: ${SCOPES.join(", ")}`);
  return scope;
}

function checkPrefix(given: string): string {
  const prefix = given.endsWith("/") ? given.slice(0, -1) : given;
  const parts = prefix.split("/");
  const bad = prefix === "" || prefix.length > 4096 || prefix.includes("\0");
  if (bad || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw invalid("paths", "a path prefix is not a workspace-relative path", "use names joined by /, without . or ..");
  }
  return prefix;
}

function checkLife(expiresInMs: number, scopes: readonly Scope[]): number {
  if (!Number.isSafeInteger(expiresInMs) || expiresInMs < 0 || expiresInMs > MAX_MS) {
    throw new GinError("INVALID_REQUEST", "a token lives at most 366 days", undefined, {
      facts: { field: "expires_in_ms", limit: MAX_MS },
    });
  }
  if (expiresInMs > 0) return expiresInMs;
  return scopes.includes("shell") || scopes.includes("admin") ? DEFAULT_STRONG_MS : DEFAULT_MS;
}

/** Whoever makes a token hands on no more than they have. */
function checkNoWider(caller: Caller, scopes: readonly Scope[], workspaces: readonly string[], paths: readonly string[]): void {
  const missing = scopes.find((scope) => !caller.scopes.has(scope));
  if (missing !== undefined) throw wider(`the scope ${missing}`, missing);
  const own = caller.workspaces;
  if (own !== undefined && (workspaces.length === 0 || workspaces.some((workspace) => !own.includes(workspace)))) {
    throw wider("workspaces");
  }
  const prefixes = caller.paths;
  if (prefixes !== undefined && (paths.length === 0 || paths.some((path) => !prefixes.some((prefix) => isBelow(path, prefix))))) {
    throw wider("paths");
  }
}

function wider(what: string, scope?: Scope): GinError {
  const facts = scope === undefined ? {} : { scope };
  return new GinError("SCOPE_FORBIDDEN", `a token cannot hand on ${what} its maker does not have`, undefined, { facts });
}

function invalid(field: string, message: string, suggestion?: string): GinError {
  return new GinError("INVALID_REQUEST", message, suggestion, { facts: { field } });
}
