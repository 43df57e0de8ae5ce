import { GinError, Pace } from "../../base/index.ts";
import { isExcluded } from "../../search/index.ts";
import type { ListedEntry } from "../../workspace/index.ts";
import type { ReadContext } from "../types.ts";

/** Entries looked at before a walk is ended. */
const VISITED = 100_000;
/** Milliseconds a walk may take. */
const WALK_MS = 60_000;

/** An entry of a tree. */
export interface TreeEntry {
  /** Relative to the workspace; a directory's ends with "/". */
  readonly path: string;
  readonly entry: ListedEntry;
}

/** What a walk found. */
export interface Tree {
  readonly entries: readonly TreeEntry[];
  /** False when there is more than a walk looks at. */
  readonly complete: boolean;
  /** Directories that the system does not let us read. */
  readonly unreadable: number;
}

/** Refusals of a directory below that say that it is not there any more. */
const GONE: ReadonlySet<string> = new Set(["PATH_NOT_FOUND", "NOT_A_DIRECTORY", "NOT_A_FILE"]);

/**
 * Lists a directory and, while `depth` is above 1, those below it; symlinks are listed and never followed. Throws NOT_A_DIRECTORY for what
 * is none, DEADLINE_EXCEEDED after a minute, CANCELLED.
 */
export async function walkTree(context: ReadContext, top: string, depth: number): Promise<Tree> {
  const { authorise, clock, signal, workspace } = context;
  const from = clock.monotonicMs();
  const found: TreeEntry[] = [];
  let unreadable = 0;
  const pace = new Pace(clock, signal);
  // The next directory is the last of these: depth first, in the order of names.
  const waiting: { path: string; depth: number }[] = [{ path: top, depth: 1 }];
  for (let here = waiting.pop(); here !== undefined; here = waiting.pop()) {
    await pace.next();
    if (clock.monotonicMs() - from > WALK_MS)
      throw new GinError("DEADLINE_EXCEEDED", "the walk took longer than a minute", "list a directory below");
    let listed: readonly ListedEntry[] | undefined;
    try {
      const read = await workspace.readHead(here.path, { authorise, content: false, signal });
      if (read.kind === "directory") listed = read.entries;
      else if (here.path === top) {
        const facts = { path: top, kind: read.kind === "large" ? "file" : read.kind };
        throw new GinError("NOT_A_DIRECTORY", `${top} is no directory`, "read it with read_file", { facts });
      }
    } catch (thrown) {
      if (here.path === top || !(thrown instanceof GinError)) throw thrown;
      if (thrown.reason === "IO_FAILED") unreadable += 1;
      else if (!GONE.has(thrown.reason)) throw thrown;
    }
    const below: { path: string; depth: number }[] = [];
    for (const entry of listed ?? []) {
      const isDirectory = entry.kind === "directory";
      if (entry.sensitive || isExcluded(isDirectory ? `${entry.name}/` : entry.name)) continue;
      if (found.length === VISITED) return { entries: found, complete: false, unreadable };
      const path = here.path === "" ? entry.name : `${here.path}/${entry.name}`;
      found.push({ path: isDirectory ? `${path}/` : path, entry });
      if (isDirectory && here.depth < depth) below.push({ path, depth: here.depth + 1 });
    }
    waiting.push(...below.reverse());
  }
  return { entries: found, complete: true, unreadable };
}
