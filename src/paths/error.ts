/** What went wrong outside the daemon proper: with a directory, the configuration, or a name. */
export type PathsFault = "not_private" | "unusable" | "too_long" | "config";

/**
 * Thrown by this leaf, which may not import the daemon's own error. `message` is for the person at this machine and may
 * name a directory of theirs; it is never sent to a remote caller. `suggestion` says what to do.
 */
export class PathsError extends Error {
  readonly fault: PathsFault;
  readonly suggestion: string;

  constructor(fault: PathsFault, message: string, suggestion: string) {
    super(message);
    this.name = "PathsError";
    this.fault = fault;
    this.suggestion = suggestion;
  }
}
