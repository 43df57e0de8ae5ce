// The door of store: everything durable, as values.
export type * from "./annotation-types.ts";
export { type Collector, type CollectorDeps, createCollector } from "./gc/collector.ts";
export type * from "./gc/types.ts";
export { checkIntegrity } from "./integrity.ts";
export { readLockNote, takeLock } from "./lock.ts";
export type * from "./memory-types.ts";
export { MEMORY_CHANGES_KEPT } from "./memory-types.ts";
export { openStore } from "./open.ts";
export type * from "./origin-types.ts";
export { type ClosableReader, openReader } from "./reader.ts";
export { holdsWork, markRestored, type StoredWorkspace } from "./restored.ts";
export { loadSqlite, type Sqlite, type SqliteCopy, sqliteVersion } from "./sqlite.ts";
export { sameState } from "./states.ts";
export { compareBytes, createTrees } from "./trees/index.ts";
export type * from "./types.ts";
