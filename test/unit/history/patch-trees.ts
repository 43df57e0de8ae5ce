import { hash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { diffHunks } from "../../../src/daemon/history/hunks.ts";
import { diffFile, diffTrees, type FileDifference, type RenamedDifference } from "../../../src/daemon/history/index.ts";
import type { Content, Hash } from "../../../src/daemon/store/index.ts";
import { createTrees } from "../../../src/daemon/store/trees/index.ts";
import { runCommand } from "../../helpers/process.ts";

/** What a path holds: "120000" is a symlink whose target are the bytes. */
export interface Held {
  readonly mode: "100644" | "100755" | "120000";
  readonly bytes: Buffer;
}

/** A tree as a plain map. */
export type Model = ReadonlyMap<string, Held>;

/** A file of a text. */
export const file = (text: string, mode: Held["mode"] = "100644"): Held => ({ mode, bytes: Buffer.from(text) });
/** A symlink. */
export const link = (target: string): Held => ({ mode: "120000", bytes: Buffer.from(target) });

/** Trees and contents in memory. */
export class Kept {
  readonly #nodes = new Map<Hash, Uint8Array>();
  readonly #objects = new Map<Hash, Uint8Array>();
  readonly trees = createTrees((hash) => this.#nodes.get(hash));

  /** Root of a model's tree; its contents are kept. */
  put(model: Model): Hash {
    const changes = [...model].map(([path, held]) => ({ path, after: this.#content(held) }));
    const { root, nodes } = this.trees.change(this.trees.empty, changes);
    for (const { hash, data } of nodes) this.#nodes.set(hash, data);
    return root;
  }

  bytes(sha256: Hash): Uint8Array | undefined {
    return this.#objects.get(sha256);
  }

  #content({ mode, bytes }: Held): Content {
    const sha256 = hash("sha256", bytes, "hex");
    this.#objects.set(sha256, bytes);
    return { kind: mode === "120000" ? "symlink" : "file", sha256, size: bytes.length, executable: mode === "100755" };
  }
}

/** A file's difference with what it came from. */
export type Diffed = RenamedDifference & FileDifference;

/** The whole way from two trees to patches, without an api. */
export async function diffModels(a: Model, b: Model, context: number | undefined = 3): Promise<Diffed[]> {
  const kept = new Kept();
  const pair = { trees: kept.trees, from: kept.put(a), to: kept.put(b), prefix: "", visible: () => true };
  const bytes = (sha256: Hash) => kept.bytes(sha256);
  const differences = await diffTrees(pair, { bytes, renamedFrom: () => undefined }, systemClock);
  const differ = { hunks: async (one: Uint8Array, other: Uint8Array, lines: number | undefined) => diffHunks(one, other, lines) };
  const out: Diffed[] = [];
  for (const difference of differences) {
    const found = await diffFile(difference, context, { differ, bytes, maxBytes: 1_000_000 });
    out.push({ ...difference, ...found });
  }
  return out;
}

/** Writes a model into a directory. */
export function writeModel(directory: string, model: Model): void {
  mkdirSync(directory, { recursive: true });
  for (const [path, { mode, bytes }] of model) {
    const at = join(directory, path);
    mkdirSync(dirname(at), { recursive: true });
    if (mode === "120000") symlinkSync(bytes, at);
    else {
      writeFileSync(at, bytes);
      chmodSync(at, mode === "100755" ? 0o755 : 0o644);
    }
  }
}

/** What is in a directory, as a model. */
export function readModel(directory: string, below = "", into = new Map<string, Held>()): Map<string, Held> {
  for (const name of readdirSync(join(directory, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    const at = join(directory, path);
    const stat = lstatSync(at);
    if (stat.isDirectory()) readModel(directory, path, into);
    else if (stat.isSymbolicLink()) into.set(path, { mode: "120000", bytes: readlinkSync(at, { encoding: "buffer" }) });
    else into.set(path, { mode: (stat.mode & 0o100) === 0 ? "100644" : "100755", bytes: readFileSync(at) });
  }
  return into;
}

/** A model in a form that compares and prints. */
export function shown(model: Model): Record<string, string> {
  const paths = [...model.keys()].sort();
  return Object.fromEntries(paths.map((path) => [path, `${model.get(path)?.mode} ${model.get(path)?.bytes.toString("latin1")}`]));
}

/** One shell for all: starting git costs 2 ms, going through Node would double it. */
const LOOP =
  'i=0; while [ $i -lt "$1" ]; do (cd $i && git apply $(cat ../$i.flags) ../$i.patch >../$i.out 2>&1; echo $?); i=$((i+1)); done';

/** Applies a patch to each directory "0", "1" … under `directory` and gives what git said, "" where it was content. */
export async function gitApply(
  directory: string,
  cases: readonly { readonly before: Model; readonly patch: Uint8Array; readonly flags: string }[],
): Promise<string[]> {
  for (const [index, { before, patch, flags }] of cases.entries()) {
    writeModel(join(directory, String(index)), before);
    writeFileSync(join(directory, `${index}.patch`), patch);
    writeFileSync(join(directory, `${index}.flags`), flags);
  }
  const env = { HOME: directory, GIT_CONFIG_NOSYSTEM: "1", GIT_CEILING_DIRECTORIES: directory };
  const { stdout, stderr } = await runCommand("sh", ["-c", LOOP, "sh", String(cases.length)], { cwd: directory, env });
  const statuses = stdout.trim().split("\n");
  if (statuses.length !== cases.length) throw new Error(`git apply ran ${statuses.length} of ${cases.length} cases: ${stderr}`);
  return statuses.map((status, index) =>
    status === "0" ? "" : `${status}: ${readFileSync(join(directory, `${index}.out`), "utf8")}`,
  );
}
