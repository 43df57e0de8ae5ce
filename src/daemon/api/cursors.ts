import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { GinError, type Json } from "../base/index.ts";

/** Bytes of the authentication code in a cursor. */
const MAC_BYTES = 16;

/** What a cursor is bound to: it opens under exactly this. */
export interface CursorScope {
  /** RPC name. */
  readonly operation: string;
  readonly principal: string;
  /** What was asked, without cursor and limit: equal queries give equal values. */
  readonly query: readonly Json[];
}

/**
 * Opaque places in lists. A cursor carries a position, authenticated by the store's key together with operation, caller and
 * query, so it can be neither altered nor taken to another list. It grants nothing: each page is authorised anew.
 */
export class Cursors {
  readonly #key: Uint8Array;

  /** `key`: 32 bytes, kept with the store so that cursors outlive a restart. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** A cursor for a position, which may be any JSON. */
  seal(scope: CursorScope, position: Json): string {
    const body = Buffer.from(JSON.stringify(position));
    // The code comes last: what begins as JSON does never begins with a dash, which a command line would take for a flag.
    return Buffer.concat([body, this.#mac(scope, body)]).toString("base64url");
  }

  /** The position of a cursor; undefined for "". Throws INVALID_CURSOR. */
  open(scope: CursorScope, cursor: string): Json | undefined {
    if (cursor === "") return undefined;
    const sealed = Buffer.from(cursor, "base64url");
    // Decoding ignores what is not base64url: only the one true spelling counts.
    const canonical = sealed.length > MAC_BYTES && sealed.toString("base64url") === cursor;
    const body = sealed.subarray(0, -MAC_BYTES);
    if (!canonical || !timingSafeEqual(sealed.subarray(-MAC_BYTES), this.#mac(scope, body))) {
      throw new GinError("INVALID_CURSOR", "the cursor was altered or belongs to another list");
    }
    return JSON.parse(body.toString()) as Json;
  }

  #mac(scope: CursorScope, body: Uint8Array): Uint8Array {
    const bound = createHash("sha256")
      .update(JSON.stringify([scope.operation, scope.principal, scope.query]))
      .digest();
    return createHmac("sha256", this.#key).update(bound).update(body).digest().subarray(0, MAC_BYTES);
  }
}

/** A page's length: the default for 0. */
export function pageSize(asked: number, standard: number): number {
  return asked === 0 ? standard : asked;
}
