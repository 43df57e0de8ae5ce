import { type Clock, GinError, type Log, type Random } from "../base/index.ts";
import type { Store, TokenRow } from "../store/index.ts";
import { BackOff } from "./back-off.ts";
import { checkSpec } from "./token-spec.ts";
import { hashSecret, mintTokenText, parseTokenText, secretMatches } from "./token-text.ts";
import type { Tokens } from "./types.ts";

const MINUTE_MS = 60_000;

/** What tokens stand on. */
export interface TokensOptions {
  readonly store: Pick<Store, "write"> & { readonly read: Pick<Store["read"], "tokens"> };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Bearer tokens over the store. Rows live in memory, the daemon being the store's only writer: a check touches no disk,
 * and a revocation counts from the tick it is asked for. Wall time decides expiry, since a token outlives every monotonic clock.
 */
export function createTokens({ store, clock, random, log }: TokensOptions): Tokens {
  const rows = new Map<string, TokenRow>(store.read.tokens().map((row) => [row.id, row]));
  const listeners = new Set<(id: string) => void>();
  const backOff = new BackOff(clock);

  function refused(remote: string, error: "UNAUTHENTICATED" | "TOKEN_EXPIRED", message: string, tokenId?: string): GinError {
    const retryAfterMs = backOff.failed(remote);
    log.warn({ remote, reason: error, token: tokenId }, "authentication failed");
    return new GinError(error, message, undefined, { retryAfterMs });
  }

  function markUsed(row: TokenRow, nowMs: number): void {
    const minute = nowMs - (nowMs % MINUTE_MS);
    if (minute <= row.lastUsedMs) return;
    rows.set(row.id, { ...row, lastUsedMs: minute });
    store.write("token.used", { id: row.id, lastUsedMs: minute }).catch((cause: unknown) => {
      log.warn({ token: row.id, err: cause }, "the last use of a token was not recorded");
    });
  }

  return {
    async create(caller, spec, request) {
      const checked = checkSpec(caller, spec);
      let minted = mintTokenText(random);
      while (rows.has(minted.id)) minted = mintTokenText(random);
      const now = clock.wallMs();
      const row: TokenRow = {
        id: minted.id,
        secretSha256: hashSecret(minted.secret),
        principal: checked.principal,
        scopes: checked.scopes,
        workspaces: checked.workspaces,
        paths: checked.paths,
        createdMs: now,
        expiresMs: now + checked.lifeMs,
        lastUsedMs: 0,
        revokedMs: 0,
        createdBy: caller.principal,
      };
      await store.write("token.create", request === undefined ? { token: row } : { token: row, request: request(row) });
      rows.set(row.id, row);
      return { token: minted.text, row };
    },

    async revoke(id, request) {
      const row = rows.get(id);
      if (row === undefined) throw new GinError("ID_NOT_FOUND", "no such token", "list them", { facts: { id } });
      const revoked = row.revokedMs > 0 ? row : { ...row, revokedMs: clock.wallMs() };
      rows.set(id, revoked);
      if (row.revokedMs === 0) for (const callback of listeners) callback(id);
      const value = { id, revokedMs: revoked.revokedMs };
      await store.write("token.revoke", request === undefined ? value : { ...value, request: request(revoked) });
      return revoked;
    },

    list: () => [...rows.values()].sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? -1 : 1)),

    token: (id) => rows.get(id),

    verify(text, remote) {
      const parsed = parseTokenText(text);
      if (parsed === undefined) throw refused(remote, "UNAUTHENTICATED", UNKNOWN);
      const row = rows.get(parsed.id);
      const matches = secretMatches(parsed.secret, row?.secretSha256);
      if (row === undefined || !matches || row.revokedMs > 0) throw refused(remote, "UNAUTHENTICATED", UNKNOWN, parsed.id);
      const now = clock.wallMs();
      if (now >= row.expiresMs) throw refused(remote, "TOKEN_EXPIRED", "the token ran out", row.id);
      markUsed(row, now);
      return row;
    },

    missing: (remote) => refused(remote, "UNAUTHENTICATED", "a bearer token is needed here"),

    onRevoke(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
}

const UNKNOWN = "the token is not valid here";
