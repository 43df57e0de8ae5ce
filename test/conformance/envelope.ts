import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject, type JsonValue } from "../../src/clients/sdk/index.ts";
import { sha256 } from "./corpus.ts";

/** Longest text that an envelope of the corpus spells out. */
const SPELLED = 600;

/** Hashes of a directory's files by what they are called in an envelope: `<sha256 of a.txt>`. */
export function hashesOf(root: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of readdirSync(root, { recursive: true }).map(String).sort()) {
    if (path.includes(".gin-tmp-")) continue;
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (stat?.isFile() === true && stat.size < 1_000_000) {
      const hash = sha256(readFileSync(join(root, path)));
      if (!found.has(hash)) found.set(hash, `<sha256 of ${path}>`);
    }
  }
  return found;
}

/**
 * An envelope with placeholders where a value is of this run: ids of checkpoints, cursors, times, request ids, versions, authors. Hashes of
 * files that were there before or are there after become their names. Long texts become their length, ends and hash.
 */
export function settled(envelope: JsonObject, root: string, hashes: ReadonlyMap<string, string>): JsonObject {
  const { request_id: _id, ...rest } = envelope;
  return walk(rest, "", root, hashes) as JsonObject;
}

const BY_NAME: { readonly [field: string]: string } = {
  checkpoint: "<checkpoint>",
  cursor: "<cursor>",
  author: "<author>",
  gin_version: "<version>",
  jinn_version: "<version>",
  detail_id: "<id>",
  requestId: "<request id>",
};

function walk(value: JsonValue, name: string, root: string, hashes: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === "string") return BY_NAME[name] ?? text(value, root, hashes);
  // Schemas have tests of their own: here they would be a hash that every better description changes.
  if (Array.isArray(value) && name === "schema") return `<${value.length} schemas>`;
  if (Array.isArray(value)) return value.map((one) => walk(one, "", root, hashes));
  if (!isObject(value)) return name === "generation" ? "<generation>" : value;
  // How large a directory is, the file system says.
  if (value.type === "directory" && typeof value.size === "number") {
    const summary = String(value.summary).replace(`${value.size} bytes`, "<size> bytes");
    return walk({ ...value, size: "<size>", summary }, name, root, hashes);
  }
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [field, walk(one ?? null, field, root, hashes)] as const),
  );
}

function text(value: string, root: string, hashes: ReadonlyMap<string, string>): string {
  const parsed = embedded(value, root, hashes);
  const shown = (parsed ?? value)
    .replaceAll(root, "<root>")
    .replace(/\b[0-9a-f]{64}\b/g, (hash) => hashes.get(hash) ?? "<sha256>")
    .replace(/\b(ck|rq)_[0-9a-z]{12,}/g, "<id>")
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, "<time>");
  if (shown.length <= SPELLED) return shown;
  return `<${value.length} characters: ${shown.slice(0, 60)}…${shown.slice(-60)} ${sha256(shown).slice(0, 16)}>`;
}

/** JSON inside a text, with its own placeholders; the order of its fields stays. */
function embedded(value: string, root: string, hashes: ReadonlyMap<string, string>): string | undefined {
  if (!/^[{[]/.test(value)) return undefined;
  try {
    const pretty = value.includes("\n") ? 2 : undefined;
    return JSON.stringify(walk(JSON.parse(value) as JsonValue, "", root, hashes), undefined, pretty);
  } catch {
    // Text that only begins like JSON is text.
    return undefined;
  }
}
