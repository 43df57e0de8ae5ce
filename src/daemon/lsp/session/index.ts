// The door of session for the room: one server's process, over its starts and crashes.
export { type ResidentBytes, residentBytes } from "./resident.ts";
export type { SessionDeps } from "./run.ts";
export { createSession } from "./session.ts";
export type * from "./types.ts";
