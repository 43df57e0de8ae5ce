// The door of watch: being told that files change.
export type * from "./types.ts";
