import { hash } from "node:crypto";
import type { Content, PathState } from "../../store/index.ts";

/** Whether two states of a path are the same: kind, bytes and executable bit. */
export function sameState(one: PathState, other: PathState): boolean {
  if (one === null || other === null) return one === other;
  return one.sha256 === other.sha256 && one.kind === other.kind && one.executable === other.executable;
}

/** The content of a file with these bytes. */
export function fileOf(bytes: Uint8Array, executable: boolean): Content {
  return { kind: "file", sha256: hash("sha256", bytes, "hex"), size: bytes.byteLength, executable };
}
