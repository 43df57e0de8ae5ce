// The door of git: what a work tree's repository says, read only.
export type * from "./types.ts";
