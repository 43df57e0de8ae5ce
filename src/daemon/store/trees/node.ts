import { GinError } from "../../base/index.ts";
import { sha256 } from "../objects.ts";
import { contentOf, hex, kindOf } from "../rows.ts";
import type { Content, Hash } from "../types.ts";

/** Entries a node holds at most. */
export const NODE_ENTRIES = 128;

/** An entry: content, or a directory by the hash of its top node. */
export type Entry = { readonly name: string; readonly content: Content } | { readonly name: string; readonly directory: Hash };

/** One of the up to 16 parts of a split, by the next four bits of the names' hashes. */
export interface Part {
  readonly slot: number;
  /** Entries in it altogether; decides whether the split stands. */
  readonly count: number;
  readonly hash: Hash;
}

/** A directory, or a part of one: all of its entries in byte order of their names, or its parts in order of slots. */
export type Node = { readonly entries: readonly Entry[] } | { readonly parts: readonly Part[] };

const LEAF = 1;
const SPLIT = 2;
const DIRECTORY = 0;

/** Entries of a node and all below it in the same directory. */
export function countOf(node: Node): number {
  return "entries" in node ? node.entries.length : node.parts.reduce((sum, part) => sum + part.count, 0);
}

/** Hash of a name that places it in a split directory. */
export function nameHash(name: string): Hash {
  return sha256(Buffer.from(name));
}

/** Slot of a name's hash at a depth (0 is the directory's top node). */
export function slotOf(hash: Hash, depth: number): number {
  return Number.parseInt(hash.charAt(depth), 16);
}

/**
 * The node's bytes: a kind byte, then for a leaf each entry as (name length, name, kind, size unless a directory, hash), for
 * a split each part as (slot, count, hash). Numbers are LEB128. The same node always has the same bytes.
 */
export function encode(node: Node): Uint8Array {
  return "entries" in node ? encodeEntries(node.entries) : encodeParts(node.parts);
}

/** Bytes of the two numbers, the kind and the hash of one item at most. */
const ITEM_BYTES = 3 + 1 + 8 + 32;

function encodeEntries(entries: readonly Entry[]): Uint8Array {
  // One buffer, sized for the worst (three bytes a code unit): this is on the path of every save.
  const most = entries.reduce((sum, { name }) => sum + name.length * 3 + ITEM_BYTES, 1);
  const out = Buffer.allocUnsafe(most);
  let at = out.writeUInt8(LEAF, 0);
  for (const entry of entries) {
    const { name } = entry;
    at = putNumber(out, at, Buffer.byteLength(name));
    at += out.write(name, at);
    if ("directory" in entry) {
      at = out.writeUInt8(DIRECTORY, at);
      at += out.write(entry.directory, at, "hex");
    } else {
      at = out.writeUInt8(kindOf(entry.content), at);
      at = putNumber(out, at, entry.content.size);
      at += out.write(entry.content.sha256, at, "hex");
    }
  }
  return new Uint8Array(out.subarray(0, at));
}

function encodeParts(parts: readonly Part[]): Uint8Array {
  const out = Buffer.allocUnsafe(1 + parts.length * ITEM_BYTES);
  let at = out.writeUInt8(SPLIT, 0);
  for (const { slot, count, hash } of parts) {
    at = out.writeUInt8(slot, at);
    at = putNumber(out, at, count);
    at += out.write(hash, at, "hex");
  }
  return new Uint8Array(out.subarray(0, at));
}

/** The inverse of encode. Throws STORE_CORRUPT. */
export function decode(data: Uint8Array): Node {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const at = { offset: 1 };
  if (bytes[0] === LEAF) {
    const entries: Entry[] = [];
    while (at.offset < bytes.length) entries.push(entry(bytes, at));
    return { entries };
  }
  if (bytes[0] !== SPLIT) throw new GinError("STORE_CORRUPT", "a tree node in the store cannot be read");
  const parts: Part[] = [];
  while (at.offset < bytes.length) {
    const slot = take(bytes, at);
    const count = readNumber(bytes, at);
    parts.push({ slot, count, hash: readHash(bytes, at) });
  }
  return { parts };
}

function entry(bytes: Buffer, at: { offset: number }): Entry {
  const length = readNumber(bytes, at);
  const name = bytes.toString("utf8", at.offset, at.offset + length);
  at.offset += length;
  const kind = take(bytes, at);
  if (kind === DIRECTORY) return { name, directory: readHash(bytes, at) };
  const size = readNumber(bytes, at);
  return { name, content: contentOf(kind, readHash(bytes, at), size) };
}

function putNumber(out: Buffer, at: number, value: number): number {
  let rest = value;
  let next = at;
  while (rest >= 128) {
    next = out.writeUInt8((rest % 128) + 128, next);
    rest = Math.floor(rest / 128);
  }
  return out.writeUInt8(rest, next);
}

function readNumber(bytes: Buffer, at: { offset: number }): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = take(bytes, at);
    value += (byte % 128) * scale;
    if (byte < 128) return value;
  }
}

function readHash(bytes: Buffer, at: { offset: number }): Hash {
  if (at.offset + 32 > bytes.length) throw new GinError("STORE_CORRUPT", "a tree node in the store is cut off");
  const hash = hex(bytes.subarray(at.offset, at.offset + 32));
  at.offset += 32;
  return hash;
}

function take(bytes: Buffer, at: { offset: number }): number {
  const byte = bytes[at.offset++];
  if (byte === undefined) throw new GinError("STORE_CORRUPT", "a tree node in the store is cut off");
  return byte;
}
