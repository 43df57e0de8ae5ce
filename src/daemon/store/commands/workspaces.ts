import { GinError } from "../../base/index.ts";
import { getMeta, setMeta } from "../meta.ts";
import { blob } from "../rows.ts";
import type { Handler, Work } from "../work.ts";
import { endedKey } from "./ended.ts";
import { forgetProject } from "./memory.ts";
import { mustPutRequest } from "./put.ts";

/**
 * A daemon takes the store over: each workspace's epoch grows. Under another machine or another data directory than last
 * time (a copied or restored store) nothing handed out before may hold: new incarnations, a new lease incarnation, all
 * leases ended.
 */
export const takeover: Handler<"takeover"> = {
  durable: true,
  run(work, { machine, hostIdentity, incarnations, leaseIncarnation }) {
    const before = [getMeta(work.db, "machine"), getMeta(work.db, "hostIdentity")];
    const first = before[0] === undefined;
    const renewed = !first && (before[0] !== machine || before[1] !== hostIdentity);
    work.statement("UPDATE workspace SET epoch = epoch + 1").run();
    if (first || renewed) {
      setMeta(work.db, "machine", machine);
      setMeta(work.db, "hostIdentity", hostIdentity);
      setMeta(work.db, "leaseIncarnation", leaseIncarnation);
    }
    if (renewed) renew(work, incarnations);
    return { renewed };
  },
};

function renew(work: Work, incarnations: readonly string[]): void {
  const rowids = work.statement("SELECT rowid FROM workspace ORDER BY rowid").all() as { rowid: number }[];
  for (const [index, { rowid }] of rowids.entries()) {
    const incarnation = incarnations[index];
    if (incarnation === undefined) throw new GinError("INTERNAL", "too few incarnations were given for the workspaces");
    work.statement("UPDATE workspace SET incarnation = ? WHERE rowid = ?").run(incarnation, rowid);
  }
  work.statement("UPDATE lease SET state = 'ended'").run();
}

/** Starts at generation 0, epoch 1. */
export const create: Handler<"workspace.create"> = {
  durable: true,
  run(work, { row, request }) {
    work
      .statement("INSERT INTO repository(id, name) VALUES (?, ?) ON CONFLICT(id) DO NOTHING")
      .run(row.repository, row.repositoryName);
    const { lastInsertRowid } = work
      .statement(
        `INSERT INTO workspace(id, name, repository, root, device, inode, incarnation, generation, epoch, head, tree, base, status, lease_epoch)
         VALUES (?, ?, (SELECT rowid FROM repository WHERE id = ?), ?, ?, ?, ?, 0, 1, '', ?, '', 'active', 0)`,
      )
      .run(row.id, row.name, row.repository, row.root, row.device, row.inode, row.incarnation, blob(row.tree));
    mustPutRequest(work, request);
    return { rowid: Number(lastInsertRowid) };
  },
};

/** Opened again or closed; a moved root brings its new identity. */
export const status: Handler<"workspace.status"> = {
  durable: true,
  run(work, value) {
    const before = work.statement("SELECT device, inode FROM workspace WHERE rowid = ?").get(value.rowid) as
      | { device: string; inode: string }
      | undefined;
    const moved = before?.device !== (value.device ?? before?.device) || before?.inode !== (value.inode ?? before?.inode);
    const { changes } = work
      .statement(
        "UPDATE workspace SET status = ?, root = coalesce(?, root), device = coalesce(?, device), inode = coalesce(?, inode) WHERE rowid = ?",
      )
      .run(value.status, value.root ?? null, value.device ?? null, value.inode ?? null, value.rowid);
    if (changes === 0) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not there any more");
    // Another directory's files may look the same and not be the same.
    if (moved) work.statement("DELETE FROM looked WHERE workspace = ?").run(value.rowid);
    mustPutRequest(work, value.request);
    return null;
  },
};

/** Whether servers that could run code of the workspace may be started for it. */
export const trust: Handler<"workspace.trust"> = {
  durable: true,
  run(work, { rowid, trusted, request }) {
    const { changes } = work.statement("UPDATE workspace SET trusted = ? WHERE rowid = ?").run(trusted ? 1 : 0, rowid);
    if (changes === 0) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not there any more");
    mustPutRequest(work, request);
    return null;
  },
};

/**
 * The workspace is gone at once; its checkpoints, touched paths and requests, which may be very many, are deleted by upkeep
 * in slices. Nothing reads them meanwhile: their row id is not used again.
 */
export const remove: Handler<"workspace.remove"> = {
  durable: true,
  run(work, { rowid, request }) {
    work.statement("DELETE FROM open_save WHERE workspace = ?").run(rowid);
    const { changes } = work.statement("DELETE FROM workspace WHERE rowid = ?").run(rowid);
    if (changes === 0) throw new GinError("WORKSPACE_NOT_FOUND", "the workspace is not there any more");
    work.statement("DELETE FROM meta WHERE key = ?").run(endedKey(rowid));
    const empty = "NOT EXISTS (SELECT 1 FROM workspace WHERE repository = repository.rowid)";
    const given = work.statement(`SELECT id FROM repository WHERE ${empty}`).all() as { id: string }[];
    for (const { id } of given) forgetProject(work, id);
    work.statement(`DELETE FROM repository WHERE ${empty}`).run();
    work.statement("INSERT INTO removed(workspace) VALUES (?)").run(rowid);
    mustPutRequest(work, request);
    return null;
  },
};
