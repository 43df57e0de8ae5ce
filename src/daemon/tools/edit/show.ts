import { createHash } from "node:crypto";
import { diffFile } from "../../history/index.ts";
import type { Content } from "../../store/index.ts";
import type { ArgSchema, ReadContext } from "../types.ts";
import { newlines } from "./match.ts";
import { binaryOf } from "./text.ts";

/** One file before and after; null where it is absent. */
export interface Change {
  readonly path: string;
  /** Where it was, if that is another name. */
  readonly from?: string;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** A diff for an answer. */
export interface ShownDiff {
  /** A unified diff; whole hunks only. */
  readonly diff: string;
  /** Why it is not all there; "" when it is. */
  readonly left: "" | "binary" | "not_utf8" | "too_large" | "content_not_kept";
}

/** Bytes of diff in one answer. */
export const DIFF_BYTES = 50 * 1024;

/** Largest side that is diffed by lines. */
const SIDE_BYTES = 8 * 1024 * 1024;
const CONTEXT_LINES = 3;

/** SHA-256 of bytes as 64 lower-case hex digits. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Prints one change as history prints patches, at most `room` bytes of it. */
export async function showDiff(context: ReadContext, change: Change, room: number = DIFF_BYTES): Promise<ShownDiff> {
  const { path, from, before, after } = change;
  const held = new Map<string, Buffer>();
  // No diff shows a hash: any two names do that are the same for the same bytes, and hashing large files is not for nothing.
  const content = (bytes: Buffer | null): Content | null => {
    if (bytes === null) return null;
    const sha256 = bytes === before || before?.equals(bytes) === true ? "before" : "after";
    held.set(sha256, bytes);
    return { kind: "file", sha256, size: bytes.byteLength, executable: false };
  };
  const sides = {
    path,
    before: content(before),
    after: content(after),
    oldPath: from ?? "",
    similarity: from === undefined ? 0 : await alike(context, before, after),
  };
  const sources = { differ: context.differ, bytes: (sha256: string) => held.get(sha256), maxBytes: SIDE_BYTES };
  const { patch, noPatch } = await diffFile(sides, CONTEXT_LINES, sources, context.signal);
  if (noPatch !== "") return { diff: "", left: noPatch };
  const text = Buffer.from(patch).toString("utf8");
  if (patch.byteLength <= room) return { diff: text, left: "" };
  return { diff: wholeHunks(text, room), left: "too_large" };
}

/** How much of a renamed file is the same, in percent of its lines. */
async function alike({ differ, signal }: ReadContext, before: Buffer | null, after: Buffer | null): Promise<number> {
  if (before === null || after === null || before.length + after.length > SIDE_BYTES) return 0;
  if (before.equals(after)) return 100;
  const { added, removed } = await differ.hunks(before, after, undefined, signal);
  const kept = linesOf(before) - removed;
  return Math.floor((100 * kept) / Math.max(1, kept + Math.max(added, removed)));
}

function linesOf(bytes: Buffer): number {
  const ends = newlines(binaryOf(bytes), 0, bytes.length);
  return bytes.length > 0 && bytes.at(-1) !== 10 ? ends + 1 : ends;
}

/** The hunks of a diff that fit; "" when not even the first does. */
function wholeHunks(text: string, room: number): string {
  let cut = 0;
  let hunks = 0;
  for (let at = text.indexOf("\n@@ "); at >= 0; at = text.indexOf("\n@@ ", at + 1)) {
    if (Buffer.byteLength(text.slice(0, at + 1)) > room) break;
    hunks += 1;
    cut = at + 1;
  }
  // The text before the first hunk alone says nothing.
  return hunks > 1 ? text.slice(0, cut) : "";
}

/** Many diffs in one answer: each gets what room the ones before left. */
export async function showDiffs(context: ReadContext, changes: readonly Change[]): Promise<ShownDiff[]> {
  const shown: ShownDiff[] = [];
  let room = DIFF_BYTES;
  for (const change of changes) {
    const one: ShownDiff = room <= 0 ? { diff: "", left: "too_large" } : await showDiff(context, change, room);
    room -= Buffer.byteLength(one.diff);
    shown.push(one);
  }
  return shown;
}

/** How much around a change is shown with it: lines on each side. */
export const SHOW_CONTEXT: ArgSchema = {
  type: "integer",
  minimum: 0,
  default: 0,
  description: "Show the changed lines with this many lines on each side; 0 shows none",
};

/** Most that is shown, whatever was asked for. */
const SHOWN_LINES = 60;
const SHOWN_BYTES = 8 * 1024;

/** The `around` lines on each side of a place in text, the changed ones marked `*`. Lines from 1, inclusive; `last` before `first` marks none. */
export function contextBlock(text: string, first: number, last: number, around: number): string {
  const lines = text.split(/\r\n?|\n/);
  if (lines.at(-1) === "") lines.pop();
  const from = Math.max(1, first - around);
  const to = Math.min(lines.length, Math.max(first - 1, last) + around, from + SHOWN_LINES - 1);
  const width = String(to).length;
  const out: string[] = [];
  let bytes = 0;
  for (let line = from; line <= to; line += 1) {
    const shown = `${line >= first && line <= last ? "*" : " "} ${String(line).padStart(width)}\t${lines[line - 1]}`;
    bytes += shown.length;
    if (bytes > SHOWN_BYTES) break;
    out.push(shown);
  }
  return out.join("\n");
}
