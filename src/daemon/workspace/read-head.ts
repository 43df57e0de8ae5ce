import { GinError } from "../base/index.ts";
import { type Store, sameState } from "../store/index.ts";
import type { ConfinedRoot, OpenFile } from "./files/index.ts";
import { CAPTURE_BYTES, WHOLE_READ_BYTES } from "./limits.ts";
import { type Observed, observe, observedFile, observeOnce, readSmall } from "./observe.ts";
import type { HeadRead, ListedEntry, State } from "./types.ts";

/** What a read at head needs of the actor. */
export interface ReadView {
  readonly root: ConfinedRoot;
  readonly store: Store;
  readonly tree: () => string;
  readonly state: () => State;
  /** A committed path that is not on disk yet, as callers see it. */
  readonly unapplied: (path: string) => Observed | undefined;
  /** A promise for the end of the batch that is changing the path right now. */
  readonly inflight: (path: string) => Promise<void> | undefined;
  /** Whether a path that is not recorded is none that gin records by itself. */
  readonly untracked: (path: string) => boolean;
  readonly absorb: (path: string) => Promise<{ readonly seen: Observed; readonly state: State }>;
}

type ReadOptions = { readonly authorise: (path: string) => void; readonly content: boolean; readonly signal?: AbortSignal };

/**
 * Reads a path so that bytes, hash and state agree: what is recorded and unchanged is answered at once; bytes nobody recorded are
 * recorded first, through the actor's queue; a path in the middle of a save waits for that save.
 */
export async function readHead(view: ReadView, asked: string, options: ReadOptions): Promise<HeadRead> {
  for (;;) {
    if (options.signal?.aborted === true) throw new GinError("CANCELLED", "the read was cancelled");
    view.root.check();
    const quick = readRecorded(view, asked, options);
    if (quick !== undefined) return quick;
    const { path, stat } = view.root.locate(asked, true);
    options.authorise(path);
    const waiting = view.unapplied(path);
    if (waiting !== undefined) return fromSeen(path, waiting, view.state());
    if (stat?.kind === "directory") return list(view, path);
    if (stat !== undefined && stat.kind !== "file" && stat.kind !== "symlink") {
      throw new GinError("NOT_A_FILE", `${path} is a special file`, undefined, { facts: { path, kind: stat.kind } });
    }
    const seen = observeOnce(view.root, path);
    if (seen === undefined) continue;
    if ("large" in seen) return readLarge(view, path);
    if (sameState(view.store.trees.get(view.tree(), path), seen.content)) {
      // Bytes that were only kept by reference, or trimmed, are answered all the same: they are on disk.
      return fromSeen(path, seen, view.state());
    }
    const batch = view.inflight(path);
    if (batch !== undefined) {
      await batch.catch(() => {});
      continue;
    }
    if (isUntracked(view, path)) {
      await keep(view, seen);
      return fromSeen(path, seen, view.state());
    }
    const absorbed = await view.absorb(path);
    return fromSeen(path, absorbed.seen, absorbed.state);
  }
}

/** The common case in one walk: a small file that is as recorded. Undefined for everything else. */
function readRecorded(view: ReadView, asked: string, options: ReadOptions): HeadRead | undefined {
  const file = readSmall(view.root, asked, options.authorise);
  if (file === undefined || view.unapplied(file.path) !== undefined) return undefined;
  const seen = observedFile(file);
  if (!sameState(view.store.trees.get(view.tree(), file.path), seen.content)) return undefined;
  return fromSeen(file.path, seen, view.state());
}

function isUntracked(view: ReadView, path: string): boolean {
  return view.store.trees.get(view.tree(), path) === null && view.untracked(path);
}

/** What was served is kept although no checkpoint names it: a save that changed it elsewhere meanwhile is merged from there. */
async function keep(view: ReadView, seen: Observed): Promise<void> {
  const { content, bytes } = seen;
  if (content === null || bytes === undefined || content.size > CAPTURE_BYTES || view.store.read.hasObject(content.sha256))
    return;
  await view.store.write("objects", { objects: [{ sha256: content.sha256, bytes }] });
}

function fromSeen(path: string, seen: Observed, state: State): HeadRead {
  if (seen.content === null) throw new GinError("PATH_NOT_FOUND", `nothing is at ${path}`, undefined, { facts: { path } });
  const bytes = seen.bytes ?? new Uint8Array(0);
  if (seen.content.kind === "symlink") return { kind: "symlink", path, target: Buffer.from(bytes).toString(), state };
  return { kind: "file", path, content: seen.content, bytes, state, checkpoint: state.head };
}

function list(view: ReadView, path: string): HeadRead {
  const { entries } = view.root.list(path);
  const recorded = new Map(view.store.trees.list(view.tree(), path)?.map((entry) => [entry.name, entry.content]));
  const listed: ListedEntry[] = entries.map(({ name, stat, sensitive }) => {
    const content = recorded.get(name);
    const entry = {
      name,
      kind: stat.kind,
      size: stat.kind === "file" ? stat.size : 0,
      executable: stat.kind === "file" && stat.executable,
      sensitive,
      mtimeNs: stat.mtimeNs,
    };
    return content === undefined || content === null ? entry : { ...entry, sha256: content.sha256 };
  });
  return { kind: "directory", path, entries: listed, state: view.state() };
}

/** A file too large to be held: hashed in pieces, then read in pieces from one handle that is checked at each piece. */
async function readLarge(view: ReadView, path: string): Promise<HeadRead> {
  let seen = await observe(view.root, path, CAPTURE_BYTES);
  let state = view.state();
  while (!sameState(view.store.trees.get(view.tree(), path), seen.content)) {
    const batch = view.inflight(path);
    if (batch === undefined && isUntracked(view, path)) {
      await keep(view, seen);
      break;
    }
    if (batch !== undefined) {
      await batch.catch(() => {});
      seen = await observe(view.root, path, CAPTURE_BYTES);
    } else {
      ({ seen, state } = await view.absorb(path));
      break;
    }
    state = view.state();
  }
  if (seen.content === null || seen.content.size <= WHOLE_READ_BYTES) return fromSeen(path, seen, state);
  const file = view.root.openFile(path);
  if (!sameFile(file, seen)) {
    file.close();
    throw new GinError("BUSY", `${path} changed while it was being read`, undefined, { retryAfterMs: 50, facts: { path } });
  }
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const piece = await file.read(offset, length);
    if (file.unchanged()) return piece;
    throw new GinError("CURSOR_EXPIRED", `${path} changed while it was being read`, undefined, { facts: { path } });
  };
  return { kind: "large", path, content: seen.content, read, close: () => file.close(), state, checkpoint: state.head };
}

function sameFile(file: OpenFile, seen: Observed): boolean {
  const { stat } = seen;
  return (
    stat !== undefined &&
    stat.inode === file.stat.inode &&
    stat.mtimeNs === file.stat.mtimeNs &&
    stat.ctimeNs === file.stat.ctimeNs &&
    stat.size === file.stat.size
  );
}
