// The door of memory: what agents and people write down for later.
export * from "./limits.ts";
export { createMemory, type MemoryParts } from "./memory.ts";
export type * from "./types.ts";
