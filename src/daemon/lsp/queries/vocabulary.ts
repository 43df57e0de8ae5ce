import { type Clock, GinError, Pace } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import { languageOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";

/** Bits of a filter for each distinct word: one in forty files is taken to hold a word that it does not. */
const BITS_A_WORD = 12;

/** Which files of a workspace may hold a word, without reading them all for each question. */
export interface Vocabularies {
  /**
   * Paths of a tree's files of a server's languages that may hold one of the words, in byte order; with no words all of them. One that holds a word is never left out,
   * but for letters beyond ASCII that touch other such characters. The first time reads every file once.
   */
  holding(
    workspace: LspWorkspace,
    spec: ServerSpec,
    tree: Hash,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  /** Forgets a workspace. */
  forget(workspace: number): void;
}

/** What is known of a tree's files. */
interface Known {
  readonly tree: Hash;
  /** Undefined for a content that is not kept: it may hold anything. */
  readonly words: Map<string, Filter | undefined>;
}

/** By workspace and server; `clock` paces the first look. */
export function createVocabularies(clock: Clock): Vocabularies {
  const known = new Map<string, Promise<Known>>();
  return {
    async holding(workspace, spec, tree, words, signal) {
      const key = `${workspace.rowid} ${spec.id}`;
      const before = known.get(key);
      const next = (before ?? Promise.resolve(undefined))
        // What went wrong for another is looked at anew.
        .catch(() => undefined)
        .then((last) => looked(workspace, spec, tree, last, new Pace(clock, signal)));
      known.set(key, next);
      const wanted = words.map(tokensOf);
      const found: string[] = [];
      for (const [path, filter] of (await next).words) {
        if (wanted.length === 0 || filter === undefined || wanted.some((tokens) => tokens.every((one) => mayHold(filter, one))))
          found.push(path);
      }
      return found.sort(compareBytes);
    },
    forget(workspace) {
      for (const key of known.keys()) if (key.startsWith(`${workspace} `)) known.delete(key);
    },
  };
}

/** What is known of a tree, from what was known of another. Rejected half-way leaves nothing half known: the next look begins anew. */
async function looked(
  workspace: LspWorkspace,
  spec: ServerSpec,
  tree: Hash,
  last: Known | undefined,
  pace: Pace,
): Promise<Known> {
  pace.check();
  if (last?.tree === tree) return last;
  const changed = last === undefined ? undefined : changesOf(workspace, last.tree, tree);
  const words = changed === undefined || last === undefined ? new Map<string, Filter | undefined>() : new Map(last.words);
  for (const path of changed ?? workspace.files(tree, "")) {
    await pace.next();
    const hash = languageOf(spec, path) === undefined ? undefined : workspace.hashAt(tree, path);
    if (hash === undefined) words.delete(path);
    else {
      const bytes = workspace.bytes(hash);
      words.set(path, bytes === undefined ? undefined : filterOf(bytes));
    }
  }
  return { tree, words };
}

/** Paths that differ; undefined when the older tree is no longer kept. */
function changesOf(workspace: LspWorkspace, from: Hash, to: Hash): readonly string[] | undefined {
  try {
    return [...workspace.changes(from, to)].map(({ path }) => path);
  } catch (thrown) {
    if (thrown instanceof GinError) return undefined;
    throw thrown;
  }
}

/** A Bloom filter of the words of a text; a power of two of bits. */
type Filter = Uint8Array;

function filterOf(bytes: Uint8Array): Filter {
  const hashes = new Set<number>();
  eachToken(bytes, (hash) => hashes.add(hash));
  let bits = 64;
  while (bits < hashes.size * BITS_A_WORD) bits *= 2;
  const filter = new Uint8Array(bits / 8);
  for (const hash of hashes) {
    for (const bit of [hash, mixed(hash)]) {
      const at = bit & (bits - 1);
      filter[at >> 3] = (filter[at >> 3] ?? 0) | (1 << (at & 7));
    }
  }
  return filter;
}

function mayHold(filter: Filter, hash: number): boolean {
  return [hash, mixed(hash)].every((bit) => {
    const at = bit & (filter.length * 8 - 1);
    return ((filter[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
  });
}

function tokensOf(word: string): readonly number[] {
  const hashes: number[] = [];
  eachToken(Buffer.from(word), (hash) => hashes.push(hash));
  return hashes;
}

/** FNV-1a of each run of letters, digits, _ and $ of ASCII: other characters end one, so that a word that touches them is found as well. */
function eachToken(bytes: Uint8Array, tell: (hash: number) => void): void {
  let hash = 0;
  let inside = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isWordy(byte)) {
      hash = Math.imul((inside ? hash : 0x811c9dc5) ^ byte, 0x01000193);
      inside = true;
    } else if (inside) {
      tell(hash);
      inside = false;
    }
  }
  if (inside) tell(hash);
}

function isWordy(byte: number): boolean {
  return (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || (byte >= 48 && byte <= 57) || byte === 95 || byte === 36;
}

function mixed(hash: number): number {
  const high = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return high ^ (high >>> 15);
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
