// The door of git: what a work tree's repository says, read only.
export { readGit } from "./reader.ts";
export type { GitDeps } from "./run.ts";
export type * from "./types.ts";
