import { createHash } from "node:crypto";
import type { GitEntry } from "./types.ts";

/** Longest LFS pointer; real ones are some 130 bytes, and Git LFS itself looks no further. */
const MAX_POINTER = 1_024;

/** The id Git gives a blob of these bytes. */
export function blobId(bytes: Uint8Array, format: "sha1" | "sha256"): string {
  return createHash(format).update(`blob ${bytes.byteLength}\0`).update(bytes).digest("hex");
}

/** The bytes with LF for each CRLF; undefined when there is none. */
function withoutReturns(bytes: Uint8Array): Buffer | undefined {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!from.includes("\r\n")) return undefined;
  return Buffer.from(from.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
}

/** The sha256 an LFS pointer names, with the size; undefined when it is none. */
function readPointer(blob: Buffer): { readonly sha256: string; readonly size: number } | undefined {
  const text = blob.toString("latin1");
  if (!text.startsWith("version https://git-lfs.github.com/spec/")) return undefined;
  const sha256 = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return sha256 === undefined || size === undefined ? undefined : { sha256, size: Number(size) };
}

/** Whether bytes on disk are a clean checkout of an entry. The repository is asked only when their hashes do not say so. */
export async function isClean(
  entry: GitEntry,
  bytes: Uint8Array,
  format: "sha1" | "sha256",
  read: { size(blob: string): Promise<number>; blob(blob: string): Promise<Buffer> },
): Promise<boolean> {
  if (blobId(bytes, format) === entry.blob) return true;
  if (entry.kind === "symlink") return false;
  const plain = withoutReturns(bytes);
  if (plain !== undefined && blobId(plain, format) === entry.blob) return true;
  if ((await read.size(entry.blob)) > MAX_POINTER) return false;
  const pointer = readPointer(await read.blob(entry.blob));
  if (pointer === undefined || pointer.size !== bytes.byteLength) return false;
  return createHash("sha256").update(bytes).digest("hex") === pointer.sha256;
}
