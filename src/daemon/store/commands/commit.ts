import { GinError } from "../../base/index.ts";
import { blob } from "../rows.ts";
import type { CommitResult, SaveCommit } from "../types.ts";
import type { Handler, Work } from "../work.ts";
import { hasAll, putCheckpoint, putNodes, putObjects, putRequest } from "./put.ts";
import { markApplied } from "./saves.ts";

/**
 * The decision of a batch of saves: one transaction, a savepoint each. What was judged before is asked again here, in the
 * statements: generation and epoch by the head's update, the fence by its lease row, the request by its key.
 */
export const commit: Handler<"commit"> = {
  durable: true,
  objects: (value) => value.saves.flatMap((save) => save.objects),
  run(work, value) {
    work.hit("commit.begin");
    markApplied(work, value.applied ?? []);
    const results: CommitResult[] = [];
    for (const save of value.saves) {
      const failed = results.length > 0 && results.at(-1) !== "committed";
      results.push(failed ? "skipped" : single(work, save, value.boot));
    }
    work.hit("commit.before");
    return results;
  },
  after: (work) => work.hit("commit.after"),
};

/**
 * Judges and writes one save. The savepoint ends before the contents are written: only the judgement can refuse, and what is
 * thrown later undoes the whole transaction anyway.
 */
function single(work: Work, save: SaveCommit, boot: string): CommitResult {
  work.statement("SAVEPOINT save").run();
  const result = judge(work, save);
  if (result !== "committed") work.statement("ROLLBACK TO save").run();
  work.statement("RELEASE save").run();
  if (result !== "committed") return result;
  putObjects(work, save.objects);
  putNodes(work, save.nodes);
  if (work.garbage.running) work.garbage.keep(named(save));
  work.hit("commit.objects");
  for (const checkpoint of save.checkpoints) putCheckpoint(work, checkpoint);
  putJournal(work, save, boot);
  work.hit("commit.rows");
  return result;
}

/** Everything a save needs from now on. Nodes it leaves as they are belong to the head it was planned on. */
function named({ objects, counts, nodes, checkpoints }: SaveCommit): { objects: string[]; nodes: string[] } {
  const states = checkpoints.flatMap(({ paths }) => paths.flatMap(({ before, after }) => [before, after]));
  const contents = states.filter((state) => state !== null).map(({ sha256 }) => sha256);
  return {
    objects: [...objects.map(({ sha256 }) => sha256), ...(counts ?? []), ...contents],
    nodes: [...nodes.map(({ hash }) => hash), ...checkpoints.map(({ tree }) => tree)],
  };
}

/** Moves the head, and says why it may not be moved. Writes the request's outcome. */
function judge(work: Work, save: SaveCommit): CommitResult {
  if (!moveHead(work, save)) return "stale";
  if (save.fence !== undefined) {
    // A grant ends the leases it overlaps in its own transaction, so "held with this epoch" is "not superseded".
    const held = work
      .statement("SELECT 1 FROM lease WHERE id = ? AND workspace = ? AND epoch = ? AND state = 'held'")
      .get(save.fence.leaseId, save.workspace, save.fence.leaseEpoch);
    if (held === undefined) return "fence";
  }
  if (!hasAll(work, save.counts ?? [])) return "missing";
  if (save.request !== undefined && !putRequest(work, save.request)) return "request_exists";
  return "committed";
}

/** False when the workspace is not where the save was judged. */
function moveHead(work: Work, save: SaveCommit): boolean {
  const first = save.checkpoints[0];
  const last = save.checkpoints.at(-1);
  if (first === undefined || last === undefined) {
    const where = "SELECT 1 FROM workspace WHERE rowid = ? AND generation = ? AND epoch = ? AND status = 'active'";
    return work.statement(where).get(save.workspace, save.generation, save.epoch) !== undefined;
  }
  for (const [index, { workspace, generation }] of save.checkpoints.entries()) {
    if (workspace !== save.workspace || generation !== save.generation + index + 1) {
      throw new GinError("INTERNAL", "a save's checkpoints do not follow its generation");
    }
  }
  const { changes } = work
    .statement(
      "UPDATE workspace SET generation = ?, head = ?, tree = ? WHERE rowid = ? AND generation = ? AND epoch = ? AND status = 'active'",
    )
    .run(last.generation, last.id, blob(last.tree), save.workspace, save.generation, save.epoch);
  return changes === 1;
}

/** The steps stay until the files are durable; a save with nothing to apply is durable with its commit. */
function putJournal(work: Work, save: SaveCommit, boot: string): void {
  const last = save.checkpoints.at(-1);
  if (save.journal.length === 0) return;
  if (last === undefined) throw new GinError("INTERNAL", "a save without a checkpoint has nothing to apply");
  work
    .statement("INSERT INTO open_save(id, workspace, generation, state, boot, steps) VALUES (?, ?, ?, 'committed', ?, ?)")
    .run(last.id, save.workspace, last.generation, boot, JSON.stringify(save.journal));
}
