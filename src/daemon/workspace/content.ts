import { hash } from "node:crypto";
import type { Content, Hash } from "../store/index.ts";
import type { FileStat } from "./files/index.ts";

/** SHA-256 of bytes as 64 lower-case hex digits. */
export function sha256(bytes: Uint8Array): Hash {
  return hash("sha256", bytes, "hex");
}

/** A regular file's content from its bytes. */
export function fileContent(bytes: Uint8Array, executable: boolean): Content {
  return { kind: "file", sha256: sha256(bytes), size: bytes.byteLength, executable };
}

/** A symlink's content from its target. */
export function linkContent(target: Uint8Array): Content {
  return { kind: "symlink", sha256: sha256(target), size: target.byteLength, executable: false };
}

/** The content of what was read with these facts: a symlink's bytes are its target. */
export function contentOf(bytes: Uint8Array, stat: Pick<FileStat, "kind" | "executable">): Content {
  return stat.kind === "symlink" ? linkContent(bytes) : fileContent(bytes, stat.executable);
}

/** Permission bits for a file that has `mode` now and is to be executable or not: x follows r, as git does. */
export function modeFor(mode: number, executable: boolean): number {
  const plain = mode & 0o7666;
  return executable ? plain | ((mode & 0o444) >> 2) : plain;
}

/** Permission bits of a file nobody had before. */
export const NEW_FILE_MODE = 0o644;
