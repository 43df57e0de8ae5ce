import { isObject, type JsonObject, type JsonValue } from "../../clients/sdk/index.ts";

/** Bytes of text in one answer at most: beyond it hosts cut or hide what they show their model. */
export const PAGE_BYTES = 25_000;

/** Kept for the list of what was cut. */
const CUT_ROOM_BYTES = 1_000;

/** Characters that are left at least of a text which is cut. */
const KEPT_CHARACTERS = 200;

/** What stands at the end of a text that was cut. */
const CUT_MARK = "… (cut)";

/** What the daemon counts for a file of a diff beside its patch and path. */
const FILE_BYTES = 500;

/** Bytes of a message as it is shown. */
function bytesOf(message: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(message));
}

/**
 * The `limit` that makes the same page fit, for an answer of `bytes`, which is too large; undefined for answers that have no pages. The daemon counts
 * content, and what is shown is JSON: a page of quotes doubles.
 */
export function smallerLimit(operation: string, message: JsonObject, bytes: number): number | undefined {
  const served = servedBy(operation, message);
  return served === undefined || served <= 1 ? undefined : fewer(served, bytes);
}

/** How many of `served` fit, where they took `bytes`; at least one. */
export function fewer(served: number, bytes: number): number {
  return Math.max(1, Math.floor(served * (PAGE_BYTES / bytes) * 0.95) - 1);
}

/** How much of what `limit` counts the page holds. */
function servedBy(operation: string, message: JsonObject): number | undefined {
  const length = (name: string): number | undefined => (Array.isArray(message[name]) ? message[name].length : undefined);
  const bytes = (name: string, encoding: "utf8" | "base64"): number | undefined => {
    const value = message[name];
    return typeof value === "string" ? Buffer.byteLength(value, encoding) : undefined;
  };
  switch (operation) {
    case "read_path":
      return bytes("text", "utf8") ?? bytes("data", "base64") ?? length("entries");
    case "details":
      return bytes("text", "utf8");
    case "list_checkpoints":
      return length("checkpoints");
    case "list_leases":
      return length("leases");
    case "diff":
      return diffBytes(message.files);
    case "origin":
      return length(message.kind === "PATH_KIND_DIRECTORY" ? "entries" : "spans");
    case "list_annotations":
      return length("annotations");
    case "lsp":
      return lspItems(message);
    default:
      return undefined;
  }
}

/** Of the one list that an answer of Lsp pages through: a file's diagnostics count each, and a view's lines. */
function lspItems(message: JsonObject): number {
  if (message.action === "view") return String(message.text).split(/(?<=\n)/).length;
  const listed = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);
  const diagnostics = listed(message.diagnostics).flatMap((file) => {
    const found = isObject(file) ? listed(file.diagnostics) : [];
    return found.length === 0 ? [file] : found;
  });
  const lists = ["locations", "symbols", "calls", "completions", "code_actions", "files"].map((name) => listed(message[name]));
  return Math.max(...[diagnostics, ...lists].map(({ length }) => length));
}

/** What the daemon counts of a page of a diff: patches, and a little for each file but the first. */
function diffBytes(files: JsonValue | undefined): number | undefined {
  if (!Array.isArray(files)) return undefined;
  let bytes = 0;
  for (const [at, file] of files.entries()) {
    if (!isObject(file)) continue;
    bytes += typeof file.patch === "string" ? Buffer.byteLength(file.patch) : 0;
    bytes += at === 0 ? 0 : FILE_BYTES + String(file.path).length;
  }
  return bytes;
}

/**
 * A message that fits, for what has no pages: the largest parts are shortened and named in `cut`, beside what the daemon said. A call to
 * be repeated is left out whole, never shortened, as its content would be saved short.
 */
export function cutToFit(message: JsonObject): JsonObject {
  if (bytesOf(message) <= PAGE_BYTES) return message;
  const copy = structuredClone(message);
  const cut: string[] = [];
  while (bytesOf(copy) > PAGE_BYTES - CUT_ROOM_BYTES) {
    const largest = largestPart(copy, "");
    if (largest === undefined) break;
    largest.shorten();
    if (!cut.includes(largest.path) && cut.length < 20) cut.push(largest.path);
  }
  return { ...copy, cut };
}

interface Part {
  readonly path: string;
  readonly bytes: number;
  shorten(): void;
}

function largestPart(value: JsonObject | JsonValue[], at: string): Part | undefined {
  let largest: Part | undefined;
  const consider = (part: Part | undefined): void => {
    if (part !== undefined && (largest === undefined || part.bytes > largest.bytes)) largest = part;
  };
  for (const [name, item] of Object.entries(value)) {
    const path = Array.isArray(value) ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`;
    if (name === "next_call" && isObject(item) && !Array.isArray(value)) {
      consider({ path, bytes: bytesOf(item), shorten: () => delete value[name] });
    } else if (typeof item === "string" && item.length > KEPT_CHARACTERS * 2) {
      consider({
        path,
        bytes: Buffer.byteLength(item),
        shorten: () => put(value, name, halfOf(item)),
      });
    } else if (Array.isArray(item) && item.length > 1) {
      consider({
        path,
        bytes: Buffer.byteLength(JSON.stringify(item)) / 2,
        shorten: () => void item.splice(Math.ceil(item.length / 2)),
      });
      consider(largestPart(item, path));
    } else if (typeof item === "object" && item !== null) {
      consider(largestPart(item, path));
    }
  }
  return largest;
}

/** The first half of a text, and that it was cut; never half a character. */
function halfOf(text: string): string {
  const kept = text.slice(0, Math.max(KEPT_CHARACTERS, Math.floor(text.length / 2)));
  return `${kept.replace(/[\ud800-\udbff]$/, "")}${CUT_MARK}`;
}

function put(holder: JsonObject | JsonValue[], name: string, value: string): void {
  if (Array.isArray(holder)) holder[Number(name)] = value;
  else holder[name] = value;
}
