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
  if ("entries" in node) {
    const chunks: Uint8Array[] = [Uint8Array.of(LEAF)];
    for (const entry of node.entries) {
      const name = Buffer.from(entry.name);
      const directory = "directory" in entry;
      const head: number[] = [];
      number(head, name.length);
      const tail: number[] = [directory ? DIRECTORY : kindOf(entry.content)];
      if (!directory) number(tail, entry.content.size);
      chunks.push(
        Uint8Array.from(head),
        name,
        Uint8Array.from(tail),
        Buffer.from(directory ? entry.directory : entry.content.sha256, "hex"),
      );
    }
    return Buffer.concat(chunks);
  }
  const chunks: Uint8Array[] = [Uint8Array.of(SPLIT)];
  for (const { slot, count, hash } of node.parts) {
    const head = [slot];
    number(head, count);
    chunks.push(Uint8Array.from(head), Buffer.from(hash, "hex"));
  }
  return Buffer.concat(chunks);
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

function number(out: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
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
