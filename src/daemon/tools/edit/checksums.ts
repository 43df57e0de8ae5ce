import { GinError } from "../../base/index.ts";
import { toolPath } from "../files/path.ts";
import { canonical } from "../search/scope.ts";
import type { JsonMap, ReadContext } from "../types.ts";

const FIELD = "args/if_checksums";

/**
 * The argument if_checksums by canonical path, whatever spelling or link its keys have. Throws INVALID_REQUEST for a key that leads nowhere and for
 * two of one file that differ, SCOPE_FORBIDDEN for a path the caller may not touch.
 */
export function checksumsOf(context: ReadContext, args: JsonMap): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [asked, value] of Object.entries((args.if_checksums ?? {}) as JsonMap)) {
    const path = canonical(context, toolPath(asked));
    if (path === undefined) throw invalid("names a path that leads nowhere");
    context.authorise(path);
    const checksum = String(value).toLowerCase();
    if ((found.get(path) ?? checksum) !== checksum) throw invalid("has two that differ for one file");
    found.set(path, checksum);
  }
  return found;
}

/** Refuses checksums of files that the call does not change: what it was to be kept from by one would happen. Throws INVALID_REQUEST. */
export function refuseOthers(checksums: ReadonlyMap<string, string>, meant: { has(path: string): boolean }, says: string): void {
  for (const path of checksums.keys()) if (!meant.has(path)) throw invalid(says);
}

function invalid(says: string): GinError {
  return new GinError("INVALID_REQUEST", `${FIELD}: ${says}`, undefined, { facts: { field: FIELD } });
}
