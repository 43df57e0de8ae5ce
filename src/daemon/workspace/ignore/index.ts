// The door of ignore: which paths are not tracked.
export type * from "./types.ts";
