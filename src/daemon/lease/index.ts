// The door of lease: permission to write under some paths for a time.

export { CHANGES_KEPT } from "./changes.ts";
export { createLeases, type LeasesParts } from "./leases.ts";
export { leaseHeld } from "./refusals.ts";
export type * from "./types.ts";
