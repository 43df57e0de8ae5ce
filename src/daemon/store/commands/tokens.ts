import { GinError } from "../../base/index.ts";
import { blob } from "../rows.ts";
import type { Handler } from "../work.ts";
import { mustPutRequest } from "./put.ts";

/** The secret itself never comes here. */
export const create: Handler<"token.create"> = {
  durable: true,
  run(work, { token, request }) {
    work
      .statement("INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(
        token.id,
        blob(token.secretSha256),
        token.principal,
        JSON.stringify(token.scopes),
        JSON.stringify(token.workspaces),
        JSON.stringify(token.paths),
        token.createdMs,
        token.expiresMs,
        token.lastUsedMs,
        token.revokedMs,
        token.createdBy,
      );
    mustPutRequest(work, request);
    return null;
  },
};

/** The first revocation's time stays. */
export const revoke: Handler<"token.revoke"> = {
  durable: true,
  run(work, { id, revokedMs, request }) {
    const { changes } = work
      .statement("UPDATE token SET revoked_ms = iif(revoked_ms = 0, ?, revoked_ms) WHERE id = ?")
      .run(revokedMs, id);
    if (changes === 0) throw new GinError("ID_NOT_FOUND", "no such token", undefined, { facts: { id } });
    mustPutRequest(work, request);
    return null;
  },
};

/** Minute grain is the caller's business; time never goes back. */
export const used: Handler<"token.used"> = {
  durable: false,
  run(work, { id, lastUsedMs }) {
    work.statement("UPDATE token SET last_used_ms = max(last_used_ms, ?) WHERE id = ?").run(lastUsedMs, id);
    return null;
  },
};
