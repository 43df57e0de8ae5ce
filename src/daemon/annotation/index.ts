// The door of annotation: notes on checkpoints and lines, and where those lines stand now.
export type * from "./types.ts";
