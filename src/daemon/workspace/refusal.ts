import { GinError, type Json } from "../base/index.ts";
import type { StoreReader } from "../store/index.ts";
import type { Stale } from "./judge.ts";
import { CONFLICT_TEXT_BYTES } from "./limits.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Text of bytes that are UTF-8 without NUL; undefined for anything else. */
function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined || bytes.includes(0)) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The long form of a conflict, kept for Details when the error had to cut it: JSON lines, one a path. */
export interface ConflictDetail {
  readonly kind: "save.conflict";
  readonly body: Uint8Array;
}

/**
 * Says for every stale path what is there, who changed it and what a merge would give. Content goes into facts only, bounded;
 * `detail` is set when something was cut, and `absorbed` names the checkpoint that recorded an outside change just now.
 */
export function refuse(
  stale: readonly Stale[],
  asked: "refuse" | "merge",
  store: StoreReader,
  workspace: number,
  absorbed: ReadonlyMap<string, { readonly checkpoint: string; readonly cause: string }>,
  detailId: string,
): { error: GinError; detail: ConflictDetail | undefined } {
  let room = CONFLICT_TEXT_BYTES;
  let cut = false;
  const whole: Json[] = [];
  const short: Json[] = [];
  for (const entry of stale) {
    const text = textOf(entry.seen.bytes);
    const long = describe(entry, store, workspace, absorbed, text, entry.hunks);
    whole.push(long);
    const cost = JSON.stringify(long).length;
    if (cost <= room) {
      room -= cost;
      short.push(long);
      continue;
    }
    cut = true;
    const brief = describe(entry, store, workspace, absorbed, undefined, []);
    if (short.length < 100) short.push({ ...(brief as object), cut: true } as Json);
  }
  const first = stale[0];
  const clean = stale.every((entry) => entry.merge === "clean");
  const name = first === undefined ? "a path" : first.slot.asked;
  const more = stale.length > 1 ? ` and ${stale.length - 1} more` : "";
  const facts = { paths: short, path_count: stale.length };
  const moreOfError = cut ? { facts, detailId } : { facts };
  const error =
    asked === "merge"
      ? new GinError("MERGE_CONFLICT", `${name}${more} cannot be merged`, undefined, moreOfError)
      : new GinError(
          "STALE_CONTENT",
          `${name}${more} changed since you read it`,
          clean ? "merge (on_conflict), or read it again" : "read it again and make the change anew",
          moreOfError,
        );
  if (!cut) return { error, detail: undefined };
  const body = Buffer.from(whole.map((line) => JSON.stringify(line)).join("\n"));
  return { error, detail: { kind: "save.conflict", body } };
}

function describe(
  entry: Stale,
  store: StoreReader,
  workspace: number,
  absorbed: ReadonlyMap<string, { readonly checkpoint: string; readonly cause: string }>,
  text: string | undefined,
  hunks: Stale["hunks"],
): Json {
  const { seen } = entry;
  const now = absorbed.get(seen.path);
  const last = now === undefined ? store.lastTouch(workspace, seen.path) : undefined;
  const facts: Record<string, Json> = {
    path: seen.path,
    current_sha256: seen.content?.sha256 ?? "absent",
    current_size: String(seen.content?.size ?? 0),
    changed_by: now?.cause ?? (last === undefined ? "unknown" : last.principal === "" ? last.cause : last.principal),
    checkpoint: now?.checkpoint ?? last?.id ?? "",
    merge: entry.merge === "clean" || entry.merge === "base_unavailable" ? entry.merge : "conflict",
  };
  if (entry.merge !== "clean") facts.conflict = entry.merge;
  if (entry.mergedSha256 !== undefined) facts.merged_sha256 = entry.mergedSha256;
  if (text !== undefined) facts.current_text = text;
  if (hunks.length > 0) {
    facts.hunks = hunks.map((hunk) => ({
      base_lines: [hunk.baseStart, hunk.baseEnd],
      your_lines: [hunk.oursStart, hunk.oursEnd],
      current_lines: [hunk.theirsStart, hunk.theirsEnd],
      base: hunk.base,
      yours: hunk.ours,
      current: hunk.theirs,
    }));
  }
  return facts;
}
