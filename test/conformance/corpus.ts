import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject, type JsonObject, type JsonValue } from "../../src/clients/sdk/index.ts";
import { repo } from "../helpers/repo.ts";

/** What stands at a path of a tree: text, or one of `{base64}`, `{link}`, `{dir: true}`, `{sparse: bytes}`, or a generated text (`resolve`). */
export type Entry = string | JsonObject;

/** Files by path. */
export type Tree = { readonly [path: string]: Entry };

/** One call, with generated values not made yet. */
export interface Step {
  readonly tool: string;
  readonly args: JsonObject;
  readonly request_id?: string;
  readonly compress?: boolean;
}

/** One request and everything that must come of it. */
export interface Case extends Step {
  readonly name: string;
  readonly before: Tree;
  /** Calls made first, each of which must do its work. */
  readonly given?: readonly Step[];
  /** The envelope as printed, with placeholders (envelope.ts). */
  readonly expect: JsonObject;
  /** The tree afterwards; left out where it is the one before. */
  readonly after?: Tree;
  /** Where the reference answers otherwise: the field (ok, result, error_code, after, content) and the row of docs/differences.md. */
  readonly differs?: { readonly [field: string]: string };
}

const folder = join(repo, "test", "conformance", "cases");

/** Every case, by the file it stands in; a file is named for its tool, and has a case a line. */
export function loadCases(): readonly (readonly [string, readonly Case[]])[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .map((file) => {
      const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n");
      return [file.slice(0, -".jsonl".length), lines.map((line) => JSON.parse(line) as Case)] as const;
    });
}

/** Looks things up while values are made: a file on disk, an entry of the caller's undo list. */
export interface Lookup {
  readonly root: string;
  /** Id of the n-th newest entry, from 0. */
  undoId(index: number): string;
}

/** Makes the generated values of a JSON value: `$repeat: [text, n]`, `$lines: n`, `$cat: [...]`, `$sha256: path`, `$undo: n`. */
export function resolve(value: JsonValue, lookup: Lookup): JsonValue {
  if (Array.isArray(value)) return value.map((one) => resolve(one, lookup));
  if (!isObject(value)) return value;
  const [kind, given] = Object.entries(value)[0] ?? [];
  switch (kind) {
    case "$repeat": {
      const [text, times] = given as [string, number];
      return text.repeat(times);
    }
    case "$lines":
      return Array.from({ length: given as number }, (_, index) => `line ${index + 1}\n`).join("");
    case "$cat":
      return (given as JsonValue[]).map((one) => resolve(one, lookup)).join("");
    case "$sha256":
      return sha256(readFileSync(join(lookup.root, given as string)));
    case "$undo":
      return lookup.undoId(given as number);
    default:
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolve(one ?? null, lookup)]));
  }
}

/** SHA-256 in hex. */
export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

const NOTHING: Lookup = { root: "/", undoId: () => "" };

/** Empties a directory and puts a tree into it. */
export function plant(root: string, tree: Tree): void {
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true });
  for (const [path, entry] of Object.entries(tree)) {
    const at = join(root, path);
    mkdirSync(dirname(at), { recursive: true });
    if (typeof entry === "string") writeFileSync(at, entry);
    else if (typeof entry.base64 === "string") writeFileSync(at, Buffer.from(entry.base64, "base64"));
    else if (typeof entry.link === "string") symlinkSync(entry.link, at);
    else if (entry.dir === true) mkdirSync(at, { recursive: true });
    else writeFileSync(at, String(resolve(entry, NOTHING)));
  }
}

/** Longest text that a tree of the corpus spells out. */
const SPELLED = 400;

/** A directory as a tree, in one form: text where it is UTF-8 and short, else `{base64}` or `{size, sha256}`; empty directories left out. */
export function snapshot(root: string): Tree {
  const found: { [path: string]: Entry } = {};
  for (const path of below(root, "").sort()) {
    // What a save put aside and takes away after its answer.
    if (path.slice(path.lastIndexOf("/") + 1).startsWith(".gin-tmp-")) continue;
    const at = join(root, path);
    const stat = lstatSync(at);
    if (stat.isSymbolicLink()) found[path] = { link: readlinkSync(at) };
    else if (stat.isFile()) found[path] = spelled(readFileSync(at));
  }
  return found;
}

/** Paths below a directory; what a symlink leads to is not below it. */
function below(root: string, path: string): string[] {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    return entry.isDirectory() ? below(root, inner) : [inner];
  });
}

function spelled(bytes: Buffer): Entry {
  if (bytes.length > SPELLED) return { size: bytes.length, sha256: sha256(bytes) };
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString("base64") };
}
