// The door of lease: permission to write under some paths for a time.

export { createLeases, type LeasesParts } from "./leases.ts";
export type * from "./types.ts";
