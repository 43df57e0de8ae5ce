import { GinError, type Json } from "../../base/index.ts";
import { merge3 } from "../../history/index.ts";
import { CHANGE_BYTES, keptBase } from "../../workspace/index.ts";
import { loadFile } from "../files/load.ts";
import type { JsonMap, ReadContext } from "../types.ts";
import { binaryOf, decoded } from "./text.ts";

/** A file that a call is about to change. */
export interface EditTarget {
  /** Canonical. */
  readonly path: string;
  /** What is edited: the file as the caller last saw it, where it said so and the bytes are kept; else as it is. */
  readonly bytes: Buffer;
  /** Hash of `bytes`: what the save expects to find. */
  readonly sha256: string;
  /** The file as it is now. */
  readonly current: { readonly bytes: Buffer; readonly sha256: string };
}

const HASH = /^[0-9a-f]{64}$/;

/** Bytes of a stale file's text that a refusal shows, and of a text that is merged for a dry run. */
const SHOWN_BYTES = 24 * 1024;
const MERGED_BYTES = 1024 * 1024;

/** A checksum as it is compared: lower case; undefined when none was given. */
export function checksumArg(args: JsonMap, name = "if_checksum"): string | undefined {
  const value = args[name];
  return typeof value === "string" && value !== "" ? value.toLowerCase() : undefined;
}

/**
 * Reads the file that is to be changed. Throws STALE_CONTENT for a checksum that is not the file's when the bytes it names are not kept
 * or never were at the path, and what reading throws.
 */
export async function openTarget(context: ReadContext, asked: string, checksum: string | undefined): Promise<EditTarget> {
  const loaded = await loadFile(context, asked, CHANGE_BYTES).catch((thrown: unknown) => {
    const gone = checksum !== undefined && thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND";
    throw gone ? missing(asked) : thrown;
  });
  const { path, bytes, sha256 } = loaded;
  const current = { bytes, sha256 };
  if (checksum === undefined || checksum === sha256) return { path, bytes, sha256, current };
  const base = HASH.test(checksum) ? keptBase(context.store, context.workspace.rowid, path, checksum) : undefined;
  if (base === undefined) throw staleError(context, { path, current }, "base_unavailable");
  return { path, bytes: Buffer.from(base.buffer, base.byteOffset, base.byteLength), sha256: checksum, current };
}

/** What the files of one call may still come to, so that one call holds no more of them in memory than the largest file there may be. */
export class Room {
  #left = CHANGE_BYTES;

  /** Counts a file that was opened. Throws RESOURCE_LIMIT. */
  take({ bytes, current }: EditTarget): void {
    this.#left -= Math.max(bytes.byteLength, current.bytes.byteLength);
    if (this.#left >= 0) return;
    throw new GinError(
      "RESOURCE_LIMIT",
      `the call's files have more than ${CHANGE_BYTES} bytes together`,
      "change fewer of them at once",
      {
        facts: { limit: CHANGE_BYTES, unit: "bytes" },
      },
    );
  }
}

/** Whether the file is not what the caller said. */
export function isStale(target: EditTarget): boolean {
  return target.sha256 !== target.current.sha256;
}

/** The refusal of a file that is not what the caller said it is: what is there, whose change it is, and whether a merge would do. */
export function staleError(
  context: ReadContext,
  { path, current }: Pick<EditTarget, "path" | "current">,
  merge: "clean" | "conflict" | "base_unavailable",
): GinError {
  const last = context.store.read.lastTouch(context.workspace.rowid, path);
  const text = current.bytes.byteLength <= SHOWN_BYTES ? decoded(binaryOf(current.bytes)) : undefined;
  const facts: { [key: string]: Json } = {
    path,
    current_sha256: current.sha256,
    current_size: String(current.bytes.byteLength),
    changed_by: last === undefined ? "unknown" : last.principal === "" ? last.cause : last.principal,
    checkpoint: last?.id ?? "",
    merge,
    ...(text === undefined ? { cut: true } : { current_text: text }),
  };
  const then = merge === "clean" ? "merge (on_conflict), or read it again" : "read it again and make the change anew";
  return new GinError("STALE_CONTENT", `${path} is not what if_checksum says`, then, {
    facts: { paths: [facts], path_count: 1 },
  });
}

function missing(path: string): GinError {
  return new GinError("STALE_CONTENT", `${path} is gone`, "list the directory", {
    facts: {
      paths: [{ path, current_sha256: "absent", current_size: "0", merge: "conflict", conflict: "delete_modify" }],
      path_count: 1,
    },
  });
}

/**
 * What a dry run would leave in the file: `wanted`, or its merge with what is there now. Throws STALE_CONTENT where it would be
 * refused, MERGE_CONFLICT where a merge was asked for and does not go.
 */
export function dryResult(context: ReadContext, target: EditTarget, wanted: Buffer, merging: boolean): Buffer {
  if (!isStale(target)) return wanted;
  const { bytes, current } = target;
  const small = Math.max(bytes.length, wanted.length, current.bytes.length) <= MERGED_BYTES;
  const merged = small ? merge3(bytes, wanted, current.bytes) : undefined;
  if (merged?.clean === true && merging) return Buffer.from(merged.bytes);
  const refusal = staleError(context, target, merged?.clean === true ? "clean" : "conflict");
  if (!merging) throw refusal;
  throw new GinError("MERGE_CONFLICT", `${target.path} cannot be merged`, undefined, { facts: refusal.facts });
}
