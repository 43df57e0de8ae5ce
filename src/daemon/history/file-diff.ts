import { isUtf8 } from "node:buffer";
import { GinError } from "../base/index.ts";
import type { Content, Hash } from "../store/index.ts";
import { isText } from "./lines.ts";
import { type PatchSides, patchHeader } from "./patch.ts";
import type { RenamedDifference } from "./renames.ts";
import type { Differ } from "./types.ts";

/** Why a file that changed has no patch. */
export type NoPatch = "binary" | "not_utf8" | "content_not_kept" | "too_large";

/** How one path differs, in full. */
export interface FileDifference {
  readonly status: "added" | "deleted" | "modified" | "renamed" | "mode" | "type";
  /** Lines; 0 where they could not be counted. */
  readonly added: number;
  readonly removed: number;
  /** True when a side is no UTF-8 text. */
  readonly binary: boolean;
  /** What `git apply` takes, in UTF-8; empty when there is none or none was asked for. */
  readonly patch: Uint8Array;
  /** "" when there is a patch, or none was asked for but could be had. */
  readonly noPatch: NoPatch | "";
}

/** What is needed to look into contents. */
export interface ContentSources {
  readonly differ: Pick<Differ, "hunks">;
  /** The bytes of a content; undefined when they are not kept. */
  bytes(sha256: Hash): Uint8Array | undefined;
  /** Most bytes of one side that are diffed by lines. */
  readonly maxBytes: number;
}

const NOTHING = new Uint8Array(0);

/**
 * Diffs one path. `context`: unchanged lines around each change; undefined leaves the patch out and only counts. What changed
 * in name or mode alone has a patch whatever its content is.
 */
export async function diffFile(
  difference: RenamedDifference,
  context: number | undefined,
  sources: ContentSources,
  signal?: AbortSignal,
): Promise<FileDifference> {
  const { path, before, after, oldPath } = difference;
  const status = statusOf(difference);
  // As git has it, what changes its type is removed and made anew: two patches.
  if (status === "type") return diffType(path, before, after, context, sources, signal);
  const sides = { oldPath: oldPath === "" ? path : oldPath, newPath: path, before, after, similarity: difference.similarity };
  return { status, ...(await diffSides(sides, context, sources, signal)) };
}

type Part = Omit<FileDifference, "status">;

async function diffType(
  path: string,
  before: Content | null,
  after: Content | null,
  context: number | undefined,
  sources: ContentSources,
  signal: AbortSignal | undefined,
): Promise<FileDifference> {
  const side = { oldPath: path, newPath: path, similarity: 0 };
  const removed = await diffSides({ ...side, before, after: null }, context, sources, signal);
  const added = await diffSides({ ...side, before: null, after }, context, sources, signal);
  const noPatch = removed.noPatch || added.noPatch;
  return {
    status: "type",
    added: added.added,
    removed: removed.removed,
    binary: removed.binary || added.binary,
    patch: noPatch === "" ? Buffer.concat([removed.patch, added.patch]) : NOTHING,
    noPatch,
  };
}

async function diffSides(
  sides: PatchSides,
  context: number | undefined,
  sources: ContentSources,
  signal: AbortSignal | undefined,
): Promise<Part> {
  const { before, after } = sides;
  const header = patchHeader(sides);
  const head = context === undefined ? NOTHING : Buffer.from(header.head);
  const same = { added: 0, removed: 0, binary: false, patch: head, noPatch: "" } as const;
  if (before?.sha256 === after?.sha256) return same;
  const without = (noPatch: NoPatch, binary = false): Part => ({ added: 0, removed: 0, binary, patch: NOTHING, noPatch });
  if ((before?.size ?? 0) > sources.maxBytes || (after?.size ?? 0) > sources.maxBytes) return without("too_large");
  const texts: Uint8Array[] = [];
  for (const content of [before, after]) {
    // One content a turn: each may take some milliseconds to unpack and verify.
    if (texts.length > 0 && (content?.size ?? 0) > BREATHE_BYTES) await turn(signal);
    const bytes = content === null || content.size === 0 ? NOTHING : sources.bytes(content.sha256);
    if (bytes === undefined) return without("content_not_kept");
    texts.push(bytes);
  }
  if (!texts.every(isText)) return without("binary", true);
  if (!texts.every((bytes) => isUtf8(bytes))) return without("not_utf8", true);
  const [a = NOTHING, b = NOTHING] = texts;
  // An empty file that comes or goes has no lines to show.
  if (a.length === 0 && b.length === 0) return same;
  // Handing them to the worker copies both.
  if (a.length + b.length > BREATHE_BYTES) await turn(signal);
  try {
    const { added, removed, body } = await sources.differ.hunks(a, b, context, signal);
    const patch = context === undefined ? NOTHING : Buffer.concat([head, Buffer.from(header.files), body]);
    return { added, removed, binary: false, patch, noPatch: "" };
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "TOO_LARGE") return without("too_large");
    throw thrown;
  }
}

/** From so many bytes on a content is read in a turn of its own. */
const BREATHE_BYTES = 512 * 1024;

async function turn(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (signal?.aborted === true) throw new GinError("CANCELLED", "the diff was cancelled");
}

function statusOf({ before, after, oldPath }: RenamedDifference): FileDifference["status"] {
  if (oldPath !== "") return "renamed";
  if (before === null || after === null) return before === null ? "added" : "deleted";
  if (before.kind !== after.kind) return "type";
  return before.sha256 === after.sha256 ? "mode" : "modified";
}
