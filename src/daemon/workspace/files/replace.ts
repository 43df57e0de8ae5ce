import { errnoOf, GinError } from "../../base/index.ts";
import type { SwapResult } from "./exchange.ts";
import type { Ground } from "./ground.ts";
import { type Held, lstatIfThere, toFileStat } from "./handles.ts";
import { putNew } from "./put-new.ts";
import { invalid, notAFile } from "./refuse.ts";
import { awayName, inTempParent, isTemp } from "./temps.ts";
import type { Displaced, FileStat, Staged } from "./types.ts";
import { inParent, split } from "./walk.ts";

/** How often a target that others keep making and removing is tried. */
const ROUNDS = 256;

/**
 * Puts a staged content in place and gives back what it displaced. With renameat2 the two are exchanged at once; without it
 * the old one is renamed away and the new one linked in, so a moment passes without the name, and who makes it in that moment
 * is displaced too (`also`). Nothing that stood there is ever overwritten.
 */
export function place(ground: Ground, staged: Staged, how: "create" | "replace"): Displaced | undefined {
  const { directory: tempDirectory, name: temp } = split(staged.temp);
  if (tempDirectory !== split(staged.path).directory || !isTemp(temp)) throw invalid(staged.temp, "is no temp beside its target");
  return inParent(ground, staged.path, (directory, name) => {
    const earlier = alreadyPlaced(ground, directory, name, staged, temp);
    if (earlier !== undefined) return earlier.displaced;
    const displaced: Displaced[] = [];
    let mayBeThere = how === "replace";
    for (let round = 0; round < ROUNDS; round++) {
      if (mayBeThere) {
        const swapped = exchange(ground, directory, temp, name, staged);
        if (swapped !== undefined) return swapped;
        const away = moveAway(ground, directory, name, staged.path);
        if (away !== undefined) {
          displaced.unshift(away);
          ground.failPoints.hit("apply.displaced");
        }
      }
      if (putNewOrRestore(ground, directory, temp, name, displaced)) return chain(displaced);
      mayBeThere = true;
    }
    throw new GinError("BUSY", `${staged.path} is made again and again by somebody else`, undefined, {
      facts: { path: staged.path },
    });
  });
}

/** Takes a file or symlink away to a fresh temp name. */
export function takeAway(ground: Ground, path: string): Displaced | undefined {
  return inParent(ground, path, (directory, name) => {
    const displaced = moveAway(ground, directory, name, path);
    if (displaced !== undefined) ground.failPoints.hit("apply.displaced");
    return displaced;
  });
}

/** Puts a displaced file back where nothing is now. */
export function putBack(ground: Ground, displaced: Displaced, path: string): boolean {
  return inTempParent(ground, displaced.temp, (from, temp) =>
    inParent(ground, path, (to, name) => putNew(ground, from, temp, to, name)),
  );
}

/**
 * Whether an earlier call that failed after its rename has put this very file in place: then what its temp holds is what it
 * displaced, and placing once more would undo it.
 */
function alreadyPlaced(
  ground: Ground,
  directory: Held,
  name: string,
  staged: Staged,
  temp: string,
): { displaced: Displaced | undefined } | undefined {
  const { fs, handles } = ground;
  const isStaged = (stat: FileStat | undefined): boolean => stat?.inode === staged.inode && stat.device === staged.device;
  if (!isStaged(lstatIfThere(fs, handles.at(directory, name)))) return undefined;
  const stat = lstatIfThere(fs, handles.at(directory, temp));
  if (stat === undefined) return { displaced: undefined };
  if (!isStaged(stat)) return { displaced: { temp: staged.temp, stat } };
  // Linked in, and its temp name not yet gone.
  fs.unlinkSync(handles.at(directory, temp));
  return { displaced: undefined };
}

/** One displaced with the older ones behind it. */
function chain(displaced: readonly Displaced[]): Displaced | undefined {
  const [first, ...others] = displaced;
  return first === undefined || others.length === 0 ? first : { ...first, also: others };
}

/** Exchange; undefined where it cannot be done or nothing is at the target. */
function exchange(ground: Ground, directory: Held, temp: string, name: string, staged: Staged): Displaced | undefined {
  const { swap, fs, handles } = ground;
  if (swap === undefined) return undefined;
  // Looked at first so that a directory is not moved at all unless it appears within this moment.
  const before = lstatIfThere(fs, handles.at(directory, name));
  if (before === undefined) return undefined;
  if (!isReplaceable(before)) throw notAFile(staged.path, before.kind);
  const result = swap.exchange(directory.fd, temp, directory.fd, name);
  if (result === "absent" || result === "refused") return undefined;
  expectDone(result);
  const stat = toFileStat(fs.lstatSync(handles.at(directory, temp)));
  if (isReplaceable(stat)) return { temp: staged.temp, stat };
  expectDone(swap.exchange(directory.fd, temp, directory.fd, name));
  throw notAFile(staged.path, stat.kind);
}

/** Renames what is at a name to a fresh temp name; undefined when nothing is. Directories and special files stay: NOT_A_FILE. */
function moveAway(ground: Ground, directory: Held, name: string, path: string): Displaced | undefined {
  const { fs, handles } = ground;
  const from = handles.at(directory, name);
  const before = lstatIfThere(fs, from);
  if (before === undefined) return undefined;
  if (!isReplaceable(before)) throw notAFile(path, before.kind);
  const temp = freshName(ground, directory);
  const to = handles.at(directory, temp);
  try {
    fs.renameSync(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  const stat = lookOrReturn(ground, directory, temp, name);
  if (isReplaceable(stat)) return { temp: beside(path, temp), stat };
  // It became something else in between: back with it, which for a directory can only be refused by what stands there now.
  fs.renameSync(to, from);
  throw notAFile(path, stat.kind);
}

/** What a temp holds now; when that cannot be seen it goes back to its place, so that nobody has to search for it. */
function lookOrReturn(ground: Ground, directory: Held, temp: string, name: string): FileStat {
  try {
    return toFileStat(ground.fs.lstatSync(ground.handles.at(directory, temp)));
  } catch (thrown) {
    putNew(ground, directory, temp, directory, name);
    throw thrown;
  }
}

/** putNew, which gives what was displaced its place back when it fails. */
function putNewOrRestore(ground: Ground, directory: Held, temp: string, name: string, displaced: readonly Displaced[]): boolean {
  try {
    return putNew(ground, directory, temp, directory, name);
  } catch (thrown) {
    const newest = displaced[0];
    if (newest !== undefined) putNew(ground, directory, split(newest.temp).name, directory, name);
    throw thrown;
  }
}

function isReplaceable(stat: FileStat): boolean {
  return stat.kind === "file" || stat.kind === "symlink";
}

function beside(path: string, temp: string): string {
  const { directory } = split(path);
  return directory === "" ? temp : `${directory}/${temp}`;
}

/** A name nothing has: plain rename(2) would replace it. */
function freshName(ground: Ground, directory: Held): string {
  for (let attempt = 0; attempt < 16; attempt++) {
    const name = awayName(ground.random);
    if (lstatIfThere(ground.fs, ground.handles.at(directory, name)) === undefined) return name;
  }
  throw new GinError("INTERNAL", "no fresh temp name could be found");
}

/** Throws a result's errno as the system error it is. */
function expectDone(result: SwapResult): void {
  if (result === "done") return;
  const code = typeof result === "string" ? { exists: "EEXIST", absent: "ENOENT", refused: "EINVAL" }[result] : result.errno;
  throw Object.assign(new Error(`renameat2: ${code}`), { code, syscall: "renameat2" });
}
