import { hash } from "node:crypto";
import type { Content } from "../../store/index.ts";

export { sameState } from "../../store/index.ts";

/** The content of a file with these bytes. */
export function fileOf(bytes: Uint8Array, executable: boolean): Content {
  return { kind: "file", sha256: hash("sha256", bytes, "hex"), size: bytes.byteLength, executable };
}
