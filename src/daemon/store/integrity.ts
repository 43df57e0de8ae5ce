import { nodeFs } from "../base/index.ts";
import { STORE_FILE } from "./commands/backup.ts";
import { storeError } from "./errors.ts";
import { type ObjectColumns, objectBytes, sha256 } from "./objects.ts";
import { blob, hex } from "./rows.ts";
import { checkVersion } from "./schema.ts";
import { SideReader } from "./side.ts";
import { type Database, loadSqlite } from "./sqlite.ts";
import { decode, type Node } from "./trees/node.ts";
import { EMPTY_HASH } from "./trees/nodes.ts";
import type { Integrity } from "./types.ts";

/** Problems that are told at most. */
const MOST = 100;

/** Rows that must not be there: each query gives one sentence a row. */
const RULES = [
  "SELECT 'workspace ' || id || ' has a head that is not kept' FROM workspace w WHERE head <> '' AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.id = w.head AND c.workspace = w.rowid AND c.generation = w.generation AND c.tree = w.tree)",
  "SELECT 'checkpoint ' || id || ' does not have all its paths' FROM checkpoint c WHERE touched <> (SELECT count(*) FROM touched t WHERE t.workspace = c.workspace AND t.generation = c.generation) AND EXISTS (SELECT 1 FROM workspace w WHERE w.rowid = c.workspace)",
  "SELECT 'the open save ' || id || ' has no checkpoint' FROM open_save s WHERE NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.id = s.id)",
  "SELECT 'side segment ' || o.segment || ' does not count content ' || lower(hex(o.sha256)) FROM object o LEFT JOIN segment s ON s.id = o.segment WHERE o.codec = 2 AND (s.id IS NULL OR o.offset + o.size > s.bytes)",
];

/**
 * Checks a store, in use or not, without changing it: SQLite's own checks, references between rows, and with `contents` every
 * content and tree node against its hash (reads everything). Takes seconds for a large one and blocks the thread.
 * Throws STORE_TOO_NEW, STORE_READ_ONLY (cannot be opened), UNSUPPORTED; damage is told in the answer.
 */
export function checkIntegrity(directory: string, contents = false): Integrity {
  const problems: string[] = [];
  try {
    const db = loadSqlite().open(`${directory}/${STORE_FILE}`, { readonly: true, fileMustExist: true, timeout: 5000 });
    try {
      checkVersion(db);
      collect(db, directory, contents, problems);
    } finally {
      db.close();
    }
  } catch (thrown) {
    const error = storeError(thrown);
    if (error.reason !== "STORE_CORRUPT") throw error;
    problems.push(error.message);
  }
  return { ok: problems.length === 0, problems: problems.slice(0, MOST) };
}

function collect(db: Database, directory: string, contents: boolean, problems: string[]): void {
  const quick = db.prepare(`PRAGMA quick_check(${MOST})`).pluck().all() as string[];
  problems.push(...quick.filter((line) => line !== "ok"));
  const foreign = db.prepare("PRAGMA foreign_key_check").all() as { table: string }[];
  problems.push(...foreign.map(({ table }) => `a row of ${table} refers to a row that is not there`));
  for (const rule of RULES) problems.push(...(db.prepare(`${rule} LIMIT ${MOST}`).pluck().all() as string[]));
  if (contents) checkContents(db, directory, problems);
}

function checkContents(db: Database, directory: string, problems: string[]): void {
  const side = new SideReader(nodeFs, directory);
  try {
    const rows = db.prepare("SELECT sha256, codec, size, segment, offset, body FROM object").iterate();
    for (const row of rows as Iterable<ObjectColumns & { sha256: Uint8Array }>) {
      if (problems.length >= MOST) return;
      try {
        objectBytes(hex(row.sha256), row, side);
      } catch (thrown) {
        problems.push(storeError(thrown).message);
      }
    }
    const nodes = db.prepare("SELECT hash, data FROM node").iterate();
    for (const { hash, data } of nodes as Iterable<{ hash: Uint8Array; data: Uint8Array }>) {
      if (hex(hash) !== sha256(data)) problems.push(`the tree node ${hex(hash)} does not match its hash`);
    }
    checkTrees(db, problems);
  } finally {
    side.close();
  }
}

/** Trees that must be whole: of heads, bases, and every generation from the first that is kept. Each node is looked at once. */
const WHOLE_TREES =
  "SELECT w.id, w.tree FROM workspace w UNION ALL SELECT w.id, c.tree FROM workspace w JOIN checkpoint c ON c.id = w.base UNION ALL SELECT w.id, c.tree FROM workspace w JOIN checkpoint c ON c.workspace = w.rowid AND c.generation >= w.kept_from";

function checkTrees(db: Database, problems: string[]): void {
  const find = db.prepare("SELECT data FROM node WHERE hash = ?").pluck();
  const seen = new Set<string>([EMPTY_HASH]);
  for (const { id, tree } of db.prepare(WHOLE_TREES).all() as { id: string; tree: Uint8Array }[]) {
    const stack = [hex(tree)];
    for (let hash = stack.pop(); hash !== undefined; hash = stack.pop()) {
      if (seen.has(hash) || problems.length >= MOST) continue;
      seen.add(hash);
      const data = find.get(blob(hash)) as Uint8Array | undefined;
      if (data === undefined) problems.push(`workspace ${id} lacks the tree node ${hash.slice(0, 12)}…`);
      else stack.push(...below(decode(data)));
    }
  }
}

function below(node: Node): string[] {
  if ("parts" in node) return node.parts.map((part) => part.hash);
  return node.entries.flatMap((entry) => ("directory" in entry ? [entry.directory] : []));
}
