import { isUtf8 } from "node:buffer";
import { GinError } from "../../base/index.ts";
import type { OuterRules } from "../ignore/index.ts";
import { isClean } from "./clean.ts";
import { Objects } from "./objects.ts";
import { readOuterRules } from "./outer.ts";
import { Git, type GitDeps } from "./run.ts";
import type { GitEntry, GitFound, GitHead, GitReader } from "./types.ts";

/** Most bytes of a tree's list: some four million paths. */
const TREE_BYTES = 512 * 1024 * 1024;
/** Most bytes of a blob when the caller does not say. */
const BLOB_BYTES = 64 * 1024 * 1024;
/** Milliseconds for which `headNow` does not ask again. */
const HEAD_MS = 1_000;
/** Entries read in one go. */
const ENTRIES = 5_000;

/**
 * Looks at what a directory is to Git. Rejects with CANCELLED or DEADLINE_EXCEEDED only: a repository that cannot be read is none, with a note.
 */
export async function readGit(root: string, deps: GitDeps, signal?: AbortSignal): Promise<GitFound> {
  const git = new Git(deps, root);
  const options = signal === undefined ? {} : { signal };
  let inside: { status: number; stdout: Buffer; stderr: string };
  try {
    inside = await git.run(["rev-parse", "--is-inside-work-tree", "--show-object-format", ...EXCLUDE, "--show-prefix"], options);
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "UNSUPPORTED")
      return none("git is not installed: the base is what the disk held");
    if (thrown instanceof GinError && thrown.reason === "IO_FAILED") return none("git could not be started");
    throw thrown;
  }
  if (inside.status !== 0) return none(refusal(inside.stderr));
  // Paths may hold line feeds: the first of the two ends as it was asked for, and the other is last.
  const said = /^(true|false)\n(.*)\n([\s\S]*?info\/exclude)\n([\s\S]*?)\/?\n$/.exec(inside.stdout.toString("utf8"));
  const [, work, format, exclude = "", prefix = ""] = said ?? [];
  if (work === "false") return none("");
  if (said === null || !isUtf8(inside.stdout)) return none("Git cannot say where the work tree begins");
  if (format !== "sha1" && format !== "sha256") return none("Git uses a hash gin does not know");
  return { kind: "work-tree", git: new Reader(git, format, prefix, exclude) };
}

/** Asks for the path of the repository's own ignore rules. */
const EXCLUDE = ["--git-path", "info/exclude"] as const;

const none = (note: string): GitFound => ({ kind: "none", note });

/** Why git would not read the repository, without its own words: they hold absolute paths. */
function refusal(stderr: string): string {
  if (/dubious ownership|safe\.directory/.test(stderr))
    return "the Git repository belongs to another user, so it is not read; if you trust it: git config --global --add safe.directory DIRECTORY";
  if (/not a git repository|must be run in a work tree/.test(stderr)) return "";
  return "Git cannot read the repository here";
}

class Reader implements GitReader {
  readonly objectFormat: "sha1" | "sha256";
  readonly prefix: string;
  readonly #git: Git;
  readonly #sizes: Objects;
  readonly #blobs: Objects;
  /** Path of the repository's own ignore rules, from the root. */
  readonly #exclude: string;
  #head: { readonly at: number; readonly head: Promise<GitHead> } | undefined;

  constructor(git: Git, format: "sha1" | "sha256", prefix: string, exclude: string) {
    this.#git = git;
    this.objectFormat = format;
    this.prefix = prefix;
    this.#exclude = exclude;
    this.#sizes = new Objects(git, "--batch-check");
    this.#blobs = new Objects(git, "--batch");
  }

  async head(signal?: AbortSignal): Promise<GitHead> {
    const options = signal === undefined ? {} : { signal };
    const [commit, branch] = await Promise.all([
      // Without `^{commit}`: one whose object is missing is no repository without a commit, and whoever reads its tree learns of it.
      this.#git.run(["rev-parse", "--verify", "--quiet", "HEAD"], options),
      this.#git.run(["symbolic-ref", "--quiet", "HEAD"], options),
    ]);
    const id = commit.stdout.toString("latin1").trim();
    const ref = branch.stdout.toString("utf8").replace(/\n$/, "");
    // Only a branch that is not there yet is no commit. What git could not say is not known: as none it would be so for good.
    const born = commit.status === 0 && id !== "";
    const unborn = commit.status === 1 && branch.status === 0;
    if ((!born && !unborn) || branch.status > 1)
      throw unreadable("Git could not say what HEAD is", commit.stderr + branch.stderr);
    return {
      commit: born ? id : null,
      branch: branch.status === 0 && ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : null,
    };
  }

  headNow(): Promise<GitHead> {
    const now = this.#git.deps.clock.monotonicMs();
    if (this.#head !== undefined && now - this.#head.at < HEAD_MS) return this.#head.head;
    const asked = { at: now, head: this.head() };
    this.#head = asked;
    asked.head.catch(() => {
      if (this.#head === asked) this.#head = undefined;
    });
    return asked.head;
  }

  async tree(commit: string | null, signal?: AbortSignal): Promise<readonly GitEntry[]> {
    if (commit === null) return [];
    if (!/^[0-9a-f]{40,64}$/.test(commit)) throw noCommit(commit);
    const below = this.prefix === "" ? [] : ["--", `${this.prefix}/`];
    const { status, stdout, stderr } = await this.#git.run(["ls-tree", "-r", "-z", "--full-tree", commit, ...below], {
      maxBytes: TREE_BYTES,
      ...(signal === undefined ? {} : { signal }),
    });
    if (status !== 0)
      throw /[Nn]ot a (valid object name|tree object)/.test(stderr)
        ? noCommit(commit)
        : unreadable("Git could not list the commit's tree", stderr);
    return readTree(stdout, this.prefix === "" ? 0 : Buffer.byteLength(this.prefix) + 1, signal);
  }

  async size(blob: string): Promise<number> {
    return (await this.#sizes.ask(blob)).size;
  }

  async blob(blob: string, maxBytes = BLOB_BYTES): Promise<Buffer> {
    const { kind, size } = await this.#sizes.ask(blob);
    if (kind !== "blob") throw new GinError("ID_NOT_FOUND", "the object is not a blob", undefined, { facts: { id: blob } });
    if (size > maxBytes)
      throw new GinError("TOO_LARGE", `the blob is larger than ${maxBytes} bytes`, undefined, {
        facts: { limit: maxBytes, unit: "bytes" },
      });
    return (await this.#blobs.ask(blob)).bytes;
  }

  isClean(entry: GitEntry, bytes: Uint8Array): Promise<boolean> {
    return isClean(entry, bytes, this.objectFormat, this);
  }

  outerRules(): Promise<OuterRules> {
    return readOuterRules(this.#git, this.prefix, this.#exclude);
  }

  async close(): Promise<void> {
    await Promise.all([this.#sizes.close(), this.#blobs.close()]);
  }
}

/** `MODE SP TYPE SP ID TAB PATH NUL`, again and again. `skip`: bytes of each path that are above the root. */
async function readTree(said: Buffer, skip: number, signal: AbortSignal | undefined): Promise<GitEntry[]> {
  const entries: GitEntry[] = [];
  let at = 0;
  for (let count = 1; at < said.byteLength; count++) {
    const end = said.indexOf(0, at);
    const tab = said.indexOf(9, at);
    if (end < 0 || tab < 0) break;
    const [mode, type, blob = ""] = said.toString("latin1", at, tab).split(" ");
    const path = said.subarray(tab + 1 + skip, end);
    at = end + 1;
    if (type === "blob" && isUtf8(path))
      entries.push({
        path: path.toString("utf8"),
        kind: mode === "120000" ? "symlink" : "file",
        executable: mode === "100755",
        blob,
      });
    if (count % ENTRIES === 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (signal?.aborted === true) throw new GinError("CANCELLED", "the caller gave up");
    }
  }
  return entries;
}

function noCommit(id: string): GinError {
  return new GinError("ID_NOT_FOUND", "the repository has no such commit", undefined, { facts: { id } });
}

function unreadable(message: string, stderr: string): GinError {
  return new GinError("IO_FAILED", message, undefined, { cause: new Error(stderr) });
}
