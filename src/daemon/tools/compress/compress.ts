import type { ToolResult } from "../types.ts";
import { collapseRepeats } from "./repeats.ts";

/**
 * A result's text made shorter without losing any of it: what is left out can be written back exactly. `meta.compression` says what was done.
 * Whatever else makes text shorter (cutting hashes, dropping lines that look like progress) would have to be asked for by its name, and
 * there is nothing of the kind: a build that failed must not read as one that passed.
 */
export function compressed(result: ToolResult): ToolResult {
  const text = result.result ?? "";
  const shorter = collapseRepeats(text);
  const compression = {
    strategies: shorter === undefined ? [] : ["collapse_repeats"],
    original_len: Buffer.byteLength(text),
    final_len: Buffer.byteLength(shorter ?? text),
  };
  return { ...result, result: shorter ?? text, meta: { ...result.meta, compression } };
}
