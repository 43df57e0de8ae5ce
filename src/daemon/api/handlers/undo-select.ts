import type { UndoSelection } from "../../../gen/gin/v1/undo_pb.ts";
import { type Caller, GinError } from "../../base/index.ts";
import { type Selected, TakenBack } from "../../history/index.ts";
import { isPrincipal, requireScope } from "../../policy/index.ts";
import type { CauseName, Checkpoint } from "../../store/index.ts";
import { isOthers, undoable } from "../../tools/index.ts";
import type { Ground, Target } from "../invocation.ts";
import { checkSize, invalid, LIMITS } from "../limits.ts";
import { needRequestId } from "../requests.ts";
import { requirePath } from "../resolve.ts";
import { requireKept, treePath } from "./snapshot.ts";

/** What is to be taken back: some work, or everything later on a path. */
export type Selection =
  | { readonly kind: "work"; readonly selected: readonly Selected[] }
  | { readonly kind: "path"; readonly path: string; readonly at: Checkpoint };

/** Checkpoints read in one go, and generations looked through in one go. */
const PAGE = 100;
const WINDOW = 5_000;

/** Causes that are a principal's own work; what it undid, and what it took over from others, is undone by checkpoint. */
const WORK: ReadonlySet<CauseName> = new Set(["save", "tool", "shell"]);

/**
 * Finds what a selection names, newest first, and sees to the right to it. Throws INVALID_REQUEST for fields that do not go
 * together, ID_NOT_FOUND, UNSUPPORTED for an import, TOO_LARGE, SCOPE_FORBIDDEN for others' work without undo_others.
 */
export async function selectWork(
  ground: Ground,
  target: Target,
  caller: Caller,
  select: UndoSelection | undefined,
): Promise<Selection> {
  const given = Object.entries({
    request_id: select?.requestId,
    principal: select?.principal,
    checkpoint: select?.checkpoint,
    since: select?.since,
    path: select?.path,
  });
  const fields = given.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [name])).join("+");
  const { requestId = "", principal = "", checkpoint = "", since = "", path = "" } = select ?? {};
  if (principal !== "" && !isPrincipal(principal)) throw invalid("select.principal", "is not the name of a principal");
  switch (fields) {
    case "request_id":
    case "request_id+principal":
      return work(caller, await byRequest(ground, target, requestId, principal || caller.principal));
    case "principal+since":
      return work(caller, await byPrincipal(ground, target, principal, since));
    case "checkpoint":
      return work(caller, [{ checkpoint: undoable(find(ground, target, checkpoint)) }]);
    case "checkpoint+path": {
      const plain = treePath(path);
      requirePath(caller, plain);
      const at = find(ground, target, checkpoint);
      requireKept(ground, target, at);
      return { kind: "path", path: plain, at };
    }
    default:
      throw invalid("select", "give request_id (and principal), or a checkpoint, or principal and since, or path and checkpoint");
  }
}

/** The undo that a redo names. Throws as `selectWork`, and INVALID_REQUEST for a checkpoint that is no undo. */
export function selectUndo(ground: Ground, target: Target, caller: Caller, id: string): Selection {
  if (id === "") throw invalid("undo", "must name the checkpoint of an undo");
  const checkpoint = find(ground, target, id);
  if (checkpoint.cause !== "undo") throw invalid("undo", `names a checkpoint of cause ${checkpoint.cause}, not an undo`);
  return work(caller, [{ checkpoint }]);
}

/** Throws SCOPE_FORBIDDEN unless all of it is the caller's or its sub-agents', or it may take back others' work. */
export function requireRight(caller: Caller, checkpoints: Iterable<Checkpoint>): void {
  if (isOthers(caller, checkpoints)) requireScope(caller, "undo_others");
}

function work(caller: Caller, selected: readonly Selected[]): Selection {
  requireRight(
    caller,
    selected.map((one) => one.checkpoint),
  );
  return { kind: "work", selected };
}

function find(ground: Ground, target: Target, id: string): Checkpoint {
  const named = id === "base" ? (ground.reader.workspace(target.rowid)?.base ?? "") : id;
  const found = named === "" ? undefined : ground.reader.checkpoint(named);
  if (found !== undefined && found.workspace === target.rowid) return found;
  throw new GinError("ID_NOT_FOUND", "no such checkpoint in this workspace", "gin log lists them", {
    facts: { id: id.slice(0, 128) },
  });
}

/**
 * All checkpoints of one request lie close together, for an id never runs twice while its outcome is kept: the search ends behind
 * the first found, and an older one that bears the same id is another run.
 */
async function byRequest(ground: Ground, target: Target, requestId: string, principal: string): Promise<Selected[]> {
  needRequestId(requestId, "select.request_id");
  const found: Selected[] = [];
  for (let before = target.workspace.state().generation + 1; before > 0; before -= WINDOW) {
    const page = ground.reader.checkpoints({
      workspace: target.rowid,
      principal,
      requestId,
      beforeGeneration: before,
      afterGeneration: before - WINDOW - 1,
      limit: LIMITS.undo_checkpoints.value + 1,
    });
    if (page.length === 0 && found.length > 0) break;
    const newest = found[0]?.checkpoint ?? page[0];
    const run = page.filter(({ timeMs }) => (newest?.timeMs ?? 0) - timeMs <= LIMITS.request_kept_ms.value);
    found.push(...run.map((checkpoint) => ({ checkpoint: undoable(checkpoint) })));
    if (run.length < page.length) break;
    checkSize("undo_checkpoints", found.length, "select");
    await turn();
  }
  if (found.length > 0) return found;
  throw new GinError("ID_NOT_FOUND", "that request made no checkpoint in this workspace", "gin log lists requests", {
    facts: { id: requestId },
  });
}

/** The work of a principal and its sub-agents after a point, without what an undo that stands has taken back. */
async function byPrincipal(ground: Ground, target: Target, principal: string, since: string): Promise<Selected[]> {
  const from = startOf(ground, target, since);
  const takenBack = new TakenBack({ workspace: target.rowid, reader: ground.reader });
  const found: Selected[] = [];
  let before = target.workspace.state().generation + 1;
  for (;;) {
    const page = ground.reader.checkpoints({
      workspace: target.rowid,
      principal,
      subAgents: true,
      beforeGeneration: before,
      afterGeneration: from.generation,
      limit: PAGE,
    });
    for (const checkpoint of page) {
      // Wall time may have been set back in between, so each is asked by itself.
      if (!WORK.has(checkpoint.cause) || checkpoint.timeMs < from.timeMs) continue;
      const except = takenBack.of(checkpoint);
      if (except === undefined) found.push({ checkpoint });
      else if (except.size < ground.reader.touched(checkpoint.id, 0, 0).count) found.push({ checkpoint, except });
    }
    checkSize("undo_checkpoints", found.length, "select");
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return found;
    before = last.generation;
    await turn();
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

function startOf(ground: Ground, target: Target, since: string): { readonly generation: number; readonly timeMs: number } {
  const always = Number.NEGATIVE_INFINITY;
  if (since === "start") return { generation: 0, timeMs: always };
  if (since === "base" || since.startsWith("ck_")) {
    return { generation: find(ground, target, since).generation, timeMs: always };
  }
  const timeMs = TIME.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(timeMs)) throw invalid("select.since", 'takes a checkpoint id, an RFC 3339 time, or "start"');
  return { generation: 0, timeMs };
}

/** Lets other callers run between two pages. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
