import * as fs from "node:fs";
import * as path from "node:path";
import { ensurePrivateDirectory, rootLockDirectory } from "../../paths/index.ts";
import { errnoOf, GinError } from "../base/index.ts";
import { takeFirmly } from "./lock.ts";
import type { DirectoryIdentity, LockTaker, OpenRoot, RootClaim } from "./types.ts";

/**
 * Resolves a root as a person names it. Throws INVALID_REQUEST when it is not absolute, WORKSPACE_MISSING_ROOT when nothing is there,
 * NOT_A_DIRECTORY when it is no directory, IO_FAILED when it cannot be looked at.
 */
export function identify(root: string): DirectoryIdentity {
  if (!path.isAbsolute(root) || root.includes("\0")) {
    throw new GinError("INVALID_REQUEST", "the root must be an absolute path", undefined, { facts: { field: "root" } });
  }
  try {
    const real = fs.realpathSync.native(root);
    const stat = fs.lstatSync(real, { bigint: true });
    if (!stat.isDirectory()) throw new GinError("NOT_A_DIRECTORY", "the root is not a directory");
    return { path: real, device: String(stat.dev), inode: String(stat.ino) };
  } catch (thrown) {
    if (thrown instanceof GinError) throw thrown;
    const code = errnoOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new GinError("WORKSPACE_MISSING_ROOT", "nothing is at the root", "name an existing directory", { cause: thrown });
    }
    throw new GinError("IO_FAILED", `the root cannot be resolved (${code ?? "unknown"})`, undefined, {
      cause: thrown,
      facts: { errno: code ?? "" },
    });
  }
}

/** Whether a recorded root is still that directory. "" when it is, else what happened, for people. */
export function rootChanged(recorded: DirectoryIdentity): string {
  let stat: fs.BigIntStats | undefined;
  try {
    stat = fs.lstatSync(recorded.path, { bigint: true, throwIfNoEntry: false });
  } catch (thrown) {
    return `the directory cannot be looked at (${errnoOf(thrown) ?? "unknown"})`;
  }
  if (stat === undefined) return "the directory is gone";
  if (!stat.isDirectory()) return "the directory was replaced by something else";
  const same = String(stat.dev) === recorded.device && String(stat.ino) === recorded.inode;
  return same ? "" : "the directory was replaced by another";
}

/**
 * Finds the open root that is `root`, or encloses it, or lies inside it, by comparing identities up the tree, so links and bind
 * mounts of the same directory do not fool it.
 */
export function relate(
  root: DirectoryIdentity,
  open: readonly OpenRoot[],
): { readonly how: "same" | "inside" | "around"; readonly of: OpenRoot } | undefined {
  const key = keyOf(root);
  for (const of of open) if (keyOf(of) === key) return { how: "same", of };
  const above = new Set(ancestors(root.path));
  for (const of of open) if (above.has(keyOf(of))) return { how: "inside", of };
  for (const of of open) if (new Set(ancestors(of.path)).has(key)) return { how: "around", of };
  return undefined;
}

/** Refuses a root that holds gin's own state, or lies in it. `own` are the host, data and socket directories. */
export function refuseOwnState(root: DirectoryIdentity, own: readonly string[]): void {
  const key = keyOf(root);
  for (const directory of own) {
    const chain = ancestors(directory, true);
    const ours = chain[0];
    const inside = ours !== undefined && ancestors(root.path, true).includes(ours);
    if (chain.includes(key) || inside) {
      throw new GinError(
        "ROOT_OVERLAPS",
        "the root holds gin's own state, or lies in it",
        "serve another directory, or put the host elsewhere with --host (GIN_HOST)",
      );
    }
  }
}

/**
 * Takes sole ownership of a root for this host. The lock is keyed by device and inode and released by the kernel when the
 * process dies. Throws ROOT_OWNED naming the other host.
 */
export function claimRoot(root: DirectoryIdentity, host: string, take: LockTaker): RootClaim {
  const directory = rootLockDirectory();
  ensurePrivateDirectory(path.dirname(directory));
  ensurePrivateDirectory(directory);
  const file = path.join(directory, `${root.device}-${root.inode}.db`);
  const lock = takeFirmly(take, file, host);
  if (!lock.held) {
    const other = lock.holder?.host;
    const facts = other === undefined ? {} : { host: other };
    throw new GinError("ROOT_OWNED", `another host serves this directory: ${other ?? "it does not say which"}`, undefined, {
      facts,
    });
  }
  return {
    ...root,
    touch() {
      const now = new Date();
      fs.utimesSync(file, now, now);
    },
    // The lock's file stays: removing it while another process waits for it would let two own the root.
    release: () => lock.release(),
  };
}

function keyOf(directory: DirectoryIdentity): string {
  return `${directory.device}:${directory.inode}`;
}

/** Keys of the directories above a real path, nearest first, with itself when asked; what does not exist is left out. */
function ancestors(real: string, itself = false): string[] {
  const keys: string[] = [];
  for (let at = itself ? real : path.dirname(real); ; at = path.dirname(at)) {
    const stat = fs.lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stat !== undefined) keys.push(`${stat.dev}:${stat.ino}`);
    if (path.dirname(at) === at) return keys;
  }
}
