// The door of mirror for the room: what a server's run knows of a workspace, kept true; texts with exact positions; dependencies that changed.
export { createDependencies, type DependenciesParts } from "./dependencies.ts";
export { MIRROR_LIMITS, TEXT_BYTES } from "./limits.ts";
export { createMirror } from "./mirror.ts";
export { createText } from "./text.ts";
export type * from "./types.ts";
export { fileUri } from "./uri.ts";
