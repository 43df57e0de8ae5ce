import type { PathState } from "./types.ts";

/** Whether two states of a path are the same state: kind, bytes and executable bit. */
export function sameState(one: PathState, other: PathState): boolean {
  if (one === null || other === null) return one === other;
  return one.sha256 === other.sha256 && one.kind === other.kind && one.executable === other.executable;
}
