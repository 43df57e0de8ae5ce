// The door of api: what an admitted caller's request goes through.
export type * from "./types.ts";
