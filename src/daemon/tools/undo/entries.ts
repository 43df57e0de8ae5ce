import { GinError, Pace } from "../../base/index.ts";
import { TakenBack } from "../../history/index.ts";
import type { CauseName, Checkpoint, PathChange } from "../../store/index.ts";
import type { JsonMap, ReadContext } from "../types.ts";
import { isOthers } from "./rights.ts";

/** Checkpoints read in one go, and most that a search for an id, or a count, looks at. */
const PAGE = 500;
const LOOKED = 10_000;

/** Shortest start of an id that may stand for it. */
export const PREFIX_CHARACTERS = 8;

/** Paths of an entry that a list names. */
const SHOWN_PATHS = 10;

/** What a principal can take back: not what gin only found. */
const OWN: ReadonlySet<CauseName> = new Set(["save", "tool", "shell", "undo", "redo", "merge", "advance"]);

/** The caller's own checkpoints, newest first, without those it has cleared. At most `LOOKED`; `whole`: that was all of them. */
export async function ownEntries(context: ReadContext): Promise<{ readonly entries: Checkpoint[]; readonly whole: boolean }> {
  const { store, workspace, caller } = context;
  const pace = new Pace(context.clock, context.signal);
  const cleared = clearedUntil(context);
  const entries: Checkpoint[] = [];
  let before = workspace.state().generation + 1;
  for (;;) {
    const page = store.read.checkpoints({
      workspace: workspace.rowid,
      principal: caller.principal,
      beforeGeneration: before,
      afterGeneration: cleared,
      limit: PAGE,
    });
    entries.push(...page.filter(({ cause }) => OWN.has(cause)));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { entries, whole: true };
    if (entries.length >= LOOKED) return { entries, whole: false };
    before = last.generation;
    await pace.next();
  }
}

/** Generation up to which the caller cleared its entries. */
function clearedUntil({ store, workspace, caller }: ReadContext): number {
  return store.read.undoCleared(workspace.rowid, caller.principal);
}

/**
 * The checkpoint an id stands for: a whole id, also of others' work where the caller may take that back, or the start of one of the
 * caller's own. Throws INVALID_REQUEST for a start that is too short or fits several, ID_NOT_FOUND, SCOPE_FORBIDDEN.
 */
export async function findEntry(context: ReadContext, id: string): Promise<Checkpoint> {
  const { store, workspace, caller } = context;
  const exact = store.read.checkpoint(id);
  if (exact !== undefined && exact.workspace === workspace.rowid && !isCleared(context, exact)) {
    if (isOthers(caller, [exact])) context.requireScope("undo_others");
    return exact;
  }
  const start = id.startsWith("ck_") ? id : `ck_${id}`;
  if (id.length < PREFIX_CHARACTERS) {
    throw new GinError("INVALID_REQUEST", `args/id: needs ${PREFIX_CHARACTERS} characters or more`, "undo list gives the ids", {
      facts: { field: "args/id" },
    });
  }
  const { entries } = await ownEntries(context);
  const found = entries.filter((one) => one.id.startsWith(start));
  if (found.length > 1) {
    throw new GinError("INVALID_REQUEST", `args/id: is the start of ${found.length} ids`, "give more of it", {
      facts: { field: "args/id", ids: found.slice(0, 10).map((one) => one.id) },
    });
  }
  if (found[0] !== undefined) return found[0];
  throw new GinError("ID_NOT_FOUND", "no such entry", "undo list gives the ids", { facts: { id: id.slice(0, 128) } });
}

/** Only what is the caller's own is hidden from it. */
function isCleared(context: ReadContext, checkpoint: Checkpoint): boolean {
  return checkpoint.principal === context.caller.principal && checkpoint.generation <= clearedUntil(context);
}

/** Describes entries for a list. */
export async function describe(context: ReadContext, entries: readonly Checkpoint[]): Promise<JsonMap[]> {
  const { store, workspace } = context;
  const pace = new Pace(context.clock, context.signal);
  const takenBack = new TakenBack({ workspace: workspace.rowid, reader: store.read });
  const described: JsonMap[] = [];
  for (const entry of entries) {
    await pace.next();
    const { paths, count } = store.read.touched(entry.id, 0, SHOWN_PATHS);
    const seen = paths.filter(({ path }) => maySee(context, path));
    const gone = takenBack.of(entry)?.size ?? 0;
    described.push({
      id: entry.id,
      target: seen[0]?.path ?? "",
      op: opOf(paths, count),
      paths: seen.map(({ path }) => path),
      pathCount: count,
      cause: entry.cause,
      message: entry.message,
      requestId: entry.requestId,
      generation: entry.generation,
      time: new Date(entry.timeMs).toISOString(),
      undone: gone === 0 ? "no" : gone < count ? "partly" : "yes",
      ...single(paths, count),
    });
  }
  return described;
}

/** Size and hash of what stood before, where an entry is about one file. */
function single(paths: readonly PathChange[], count: number): JsonMap {
  const [only] = paths;
  if (only === undefined || count !== 1) return {};
  const { before } = only;
  return before === null ? { created: true } : { size: before.size, hash: before.sha256 };
}

function opOf(paths: readonly PathChange[], count: number): string {
  const ops = new Set(
    paths.map(({ before, after, renamedFrom }) => {
      if (renamedFrom !== undefined) return "rename";
      return before === null ? "create" : after === null ? "delete" : "update";
    }),
  );
  const [only] = ops;
  return count <= paths.length && ops.size === 1 && only !== undefined ? only : "several";
}

function maySee({ authorise }: ReadContext, path: string): boolean {
  try {
    authorise(path);
    return true;
  } catch (thrown) {
    if (thrown instanceof GinError) return false;
    throw thrown;
  }
}
