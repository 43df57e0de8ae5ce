// The door of watch: being told that files change.
export type { WatcherDeps } from "./source.ts";
export type * from "./types.ts";
export { createWatcher } from "./watcher.ts";
