import { loadSqlite } from "../../src/daemon/store/index.ts";

/** One SQLite commit of a blob with `synchronous=FULL` in WAL: the least a durable database write can cost. */
export function openBareSqlite(file: string): (bytes: Buffer) => void {
  const db = loadSqlite().open(file);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 0");
  db.exec("CREATE TABLE kept(id INTEGER PRIMARY KEY, body BLOB) STRICT");
  const insert = db.prepare("INSERT INTO kept(body) VALUES (?)");
  return (bytes) => {
    insert.run(bytes);
  };
}
