import type { FailPoints, Fs, Random } from "../../base/index.ts";
import { errnoOf, GinError, nodeFs, toGinError } from "../../base/index.ts";
import { loadSwap } from "./exchange.ts";
import type { Ground } from "./ground.ts";
import { type Handles, type Held, IdentityHandles, ProcHandles } from "./handles.ts";
import { makeParents, removeMade } from "./parents.ts";
import { probe } from "./probe.ts";
import { list, openFile, openSpot, readFile, readLink, readTemp, tempWriters } from "./reads.ts";
import { ioError, missingRoot } from "./refuse.ts";
import { place, putBack, takeAway } from "./replace.ts";
import { ScopedHandles } from "./scoped-handles.ts";
import { guardOf } from "./sensitive.ts";
import { loadStatx } from "./statx.ts";
import { sweepAll, sweepIn, temps } from "./sweep.ts";
import { discard, ifThere, stage, stageLink } from "./temps.ts";
import { twinKey } from "./twins.ts";
import type { ConfinedRoot, RootOptions } from "./types.ts";
import { inDirectory, walk } from "./walk.ts";
import { loadWriterCheck, type WriterCheck } from "./writers.ts";

const NONE: ReadonlySet<string> = new Set();

/** The ports a root works through. */
export interface RootDeps {
  readonly fs: Fs;
  readonly random: Random;
  readonly failPoints: FailPoints;
}

/**
 * Opens a workspace's directory. `absolutePath` comes from the workspace's record, never from a caller, and may itself be
 * reached through symlinks. Throws WORKSPACE_MISSING_ROOT when no directory is there, IO_FAILED when it cannot be opened,
 * INVALID_REQUEST for a malformed pattern in `options.sensitive`.
 */
export function openRoot(absolutePath: string, deps: RootDeps, options: RootOptions = {}): ConfinedRoot {
  const { fs, random, failPoints } = deps;
  const guard = guardOf(options.sensitive);
  const { handles: plain, top } = openTop(fs, absolutePath, options.confinement ?? "auto");
  const handles = new ScopedHandles(plain);
  const here = `${absolutePath}/.`;
  try {
    const { folding, swap } = probe(fs, random, handles, top, options.exchange === "off" ? undefined : loadSwap());
    const check = (): void => checkRoot(fs, here, top);
    const writers: WriterCheck = options.writers === "off" ? () => "unknown" : loadWriterCheck();
    return assemble({ fs, random, failPoints, handles, guard, folding, swap, writers, check }, top);
  } catch (thrown) {
    handles.close(top);
    throw errnoOf(thrown) === "ENOENT" ? missingRoot("vanished while it was opened", thrown) : ioError(thrown, "");
  }
}

function openTop(fs: Fs, path: string, confinement: "auto" | "identity-check"): { handles: Handles; top: Held } {
  try {
    const top = confinement === "auto" ? ProcHandles.root(fs, path) : undefined;
    // A test's own file system is asked itself; the kernel knows of the real one alone.
    if (top !== undefined) return { handles: new ProcHandles(fs, fs === nodeFs ? loadStatx() : undefined), top };
    return { handles: new IdentityHandles(fs, path), top: IdentityHandles.root(fs, path) };
  } catch (thrown) {
    const errno = errnoOf(thrown);
    if (errno === "ENOENT" || errno === "ENOTDIR") throw missingRoot("is not there", thrown);
    throw toGinError(thrown);
  }
}

function checkRoot(fs: Fs, here: string, top: Held): void {
  let now: ReturnType<Fs["lstatSync"]>;
  try {
    now = fs.lstatSync(here);
  } catch (thrown) {
    const errno = errnoOf(thrown);
    if (errno === "ENOENT" || errno === "ENOTDIR") throw missingRoot("is gone", thrown);
    throw toGinError(thrown);
  }
  if (now.ino !== top.stat.inode || now.dev !== top.stat.device) throw missingRoot("was replaced by another one");
}

/** Puts the calls together; each is a function of the ground in a file of its own. */
function assemble(
  parts: Omit<Ground, "top" | "handles" | "litter"> & { readonly handles: ScopedHandles },
  top: Held,
): ConfinedRoot {
  let open = true;
  const litter = { left: false };
  /** A call that makes or moves temps, and may leave one when it fails. */
  const tidily =
    <A extends unknown[], T>(call: (ground: Ground, ...args: A) => T) =>
    (...args: A): T => {
      try {
        return call(ground, ...args);
      } catch (thrown) {
        litter.left = true;
        throw thrown;
      }
    };
  const ground: Ground = {
    ...parts,
    litter,
    get top() {
      // A closed descriptor's number may belong to any directory by now.
      if (!open) throw missingRoot("was closed");
      return top;
    },
  };
  return {
    device: top.stat.device,
    inode: top.stat.inode,
    features: { confinement: parts.handles.confinement, replace: ground.swap === undefined ? "rename-link" : "exchange" },
    twinKey: (path) => twinKey(ground.folding, path),
    check: ground.check,
    scope: (run) => parts.handles.scope(run),
    locate: (path, follow) =>
      walk(ground, path, follow ? "all" : "above", (spot) => ({ path: spot.path, stat: spot.held?.stat })),
    readFile: (path, maxBytes, admit) => readFile(ground, path, maxBytes, admit),
    openFile: (path) => openFile(ground, path),
    readLink: (path) => readLink(ground, path),
    list: (path) => list(ground, path),
    makeParents: (path) => makeParents(ground, path),
    stage: tidily(stage),
    stageLink: tidily(stageLink),
    discard: tidily(discard),
    place: tidily(place),
    takeAway: tidily(takeAway),
    putBack: tidily(putBack),
    writers: (temp) => tempWriters(ground, temp),
    readTemp: (temp, maxBytes) => readTemp(ground, temp, maxBytes),
    setMode: (path, mode) => setMode(ground, path, mode),
    removeMade: (made) => removeMade(ground, made),
    syncFile: (path) => syncFile(ground, path),
    syncDirectory: (path) => syncDirectory(ground, path),
    temps: (directory) => temps(ground, directory),
    sweep: (directories, keep = NONE) =>
      directories === undefined ? sweepAll(ground, keep) : sweepIn(ground, directories, keep),
    littered: () => litter.left,
    close() {
      if (open) parts.handles.close(top);
      open = false;
    },
  };
}

function setMode(ground: Ground, path: string, mode: number): void {
  walk(ground, path, "none", (spot) => {
    const fd = openSpot(ground, spot);
    try {
      ground.fs.fchmodSync(fd, mode & 0o7777);
    } finally {
      ground.fs.closeSync(fd);
    }
  });
}

/** fdatasync; what is no regular file at that path any more is not ours to sync. */
async function syncFile(ground: Ground, path: string): Promise<void> {
  const fd = ifWanted(() => walk(ground, path, "none", (spot) => openSpot(ground, spot)));
  if (fd !== undefined) await syncAndClose(ground.fs, fd, path, (descriptor) => ground.fs.fdatasync(descriptor));
}

async function syncDirectory(ground: Ground, path: string): Promise<void> {
  const fd = ifWanted(() => inDirectory(ground, path, (held) => ground.fs.openSync(ground.handles.self(held), 0)));
  if (fd !== undefined) await syncAndClose(ground.fs, fd, path, (descriptor) => ground.fs.fsync(descriptor));
}

function ifWanted<T>(act: () => T): T | undefined {
  try {
    return ifThere(act);
  } catch (thrown) {
    if (thrown instanceof GinError && (thrown.reason === "NOT_A_FILE" || thrown.reason === "NOT_A_DIRECTORY")) return undefined;
    throw thrown;
  }
}

async function syncAndClose(fs: Fs, fd: number, path: string, sync: (fd: number) => Promise<void>): Promise<void> {
  try {
    await sync(fd);
  } catch (thrown) {
    throw toGinError(thrown, path === "" ? undefined : path);
  } finally {
    fs.closeSync(fd);
  }
}
