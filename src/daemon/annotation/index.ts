// The door of annotation: notes on checkpoints and lines, and where those lines stand now.
export { type AnnotationsParts, createAnnotations } from "./annotations.ts";
export { EXCERPT_BYTES } from "./excerpt.ts";
export type * from "./types.ts";
export type { MayTouch } from "./visibility.ts";
