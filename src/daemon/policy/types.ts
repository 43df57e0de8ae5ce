import type { Caller, GinError } from "../base/index.ts";
import type { RequestRow, TokenRow } from "../store/index.ts";

/** What a new token may do. */
export interface TokenSpec {
  /** "agent-7" or "agent-7/tests"; never "owner". */
  readonly principal: string;
  /** At least one. */
  readonly scopes: readonly string[];
  /** Workspace ids; empty or left out is all. */
  readonly workspaces?: readonly string[];
  /** Path prefixes; empty or left out is all. */
  readonly paths?: readonly string[];
  /** Milliseconds from now; 0 or left out is 30 days, or 24 hours with `shell` or `admin`; at most 366 days. */
  readonly expiresInMs?: number;
}

/** A token as it is shown once. */
export interface NewToken {
  /** The whole text, secret included: never stored, never logged. */
  readonly token: string;
  readonly row: TokenRow;
}

/** Bearer tokens. Verification is in memory; changes go through the store first. */
export interface Tokens {
  /**
   * Makes a token no wider than its maker's own rights. `request` gives the outcome row to write in the same transaction
   * (its answer must leave the token's text out). Throws GinError INVALID_REQUEST, SCOPE_FORBIDDEN, or the store's.
   */
  create(caller: Caller, spec: TokenSpec, request?: (row: TokenRow) => RequestRow): Promise<NewToken>;
  /**
   * Ends a token: from this very tick on it is refused, also when the store then fails. A revoked one stays as it was.
   * Throws GinError ID_NOT_FOUND, or the store's.
   */
  revoke(id: string, request?: (row: TokenRow) => RequestRow): Promise<TokenRow>;
  /** All of them, newest first, revoked and expired ones too. */
  list(): TokenRow[];
  token(id: string): TokenRow | undefined;
  /**
   * The row behind a token's text. `remote` is the peer's address, for the back-off. Throws GinError UNAUTHENTICATED
   * (one text for malformed, unknown and revoked) or TOKEN_EXPIRED.
   */
  verify(text: string, remote: string): TokenRow;
  /** Counts a request that came without a token where one is needed; gives the error to throw. */
  missing(remote: string): GinError;
  /** Called with a token's id in the tick it is revoked; the returned function ends that. */
  onRevoke(callback: (id: string) => void): () => void;
}

/** What the gate looks at; the listener's RequestHead fits. */
export interface GateHead {
  readonly transport: Caller["transport"];
  readonly path: string;
  readonly headers: Pick<Headers, "get">;
  readonly remoteAddress: string;
}

/** Finds out who calls. Fits the listener's Gate. */
export interface PolicyGate {
  /** Throws GinError UNAUTHENTICATED, TOKEN_EXPIRED, UNSUPPORTED, INVALID_REQUEST. */
  admit(head: GateHead): Caller;
}

/** Settings of the gate. */
export interface GateConfig {
  /** Major of the protocol spoken here. Default 1. */
  readonly protocol?: number;
}
