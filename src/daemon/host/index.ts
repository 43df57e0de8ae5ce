// The door of host: the host directory, the single daemon of it, the roots it owns, the machine below it.
export { type IdleOptions, watchIdle } from "./idle.ts";
export { prepareHost, takeHost } from "./instance.ts";
export { type DaemonLog, type LogOptions, openLog, writeStderr } from "./log.ts";
export { dataIdentity, type Machine, readMachine } from "./machine.ts";
export { claimRoot, identify, refuseOwnState, relate, rootChanged } from "./roots.ts";
export type { DirectoryIdentity, HeldLock, LockTaker, OpenRoot, RootClaim } from "./types.ts";
