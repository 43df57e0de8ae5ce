import { errnoOf } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import { type Held, lstatIfThere } from "./handles.ts";
import { ioError } from "./refuse.ts";
import { foldName } from "./sensitive.ts";
import { ifThere, isTemp } from "./temps.ts";
import { inDirectory } from "./walk.ts";

/** Canonical paths of gin's temps in one directory; none when it is not there. */
export function temps(ground: Ground, directory: string): string[] {
  const names = ifThere(() => inDirectory(ground, directory, (held) => ground.fs.readdirSync(ground.handles.self(held)))) ?? [];
  return names
    .map((name) => name.toString())
    .filter(isTemp)
    .sort()
    .map((name) => (directory === "" ? name : `${directory}/${name}`));
}

/** Removes the temps in these directories but those in `keep` (canonical paths); gives how many. */
export function sweepIn(ground: Ground, directories: readonly string[], keep: ReadonlySet<string>): number {
  let removed = 0;
  for (const directory of directories) {
    removed +=
      ifThere(() =>
        inDirectory(ground, directory, (held) =>
          sweepOne(ground, held, ground.fs.readdirSync(ground.handles.self(held)), directory, keep),
        ),
      ) ?? 0;
  }
  return removed;
}

/**
 * Removes every temp below the root but those in `keep`; gives how many. Walks by handles, holding no more of them than one path needs, keeps only
 * the names of directories still to visit, follows no symlink, and enters neither .git nor another device.
 */
export function sweepAll(ground: Ground, keep: ReadonlySet<string>): number {
  let removed = 0;
  /** Paths as bytes: a directory's name need not be UTF-8 to hold a temp. */
  const todo: Buffer[][] = [[]];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const here = path;
    descend(ground, here, (held) => {
      const entries = ground.fs.readdirTypesSync(ground.handles.self(held));
      const names = entries.map(({ name }) => name);
      removed += sweepOne(ground, held, names, here.map((name) => name.toString()).join("/"), keep);
      // What it is, and on which device, is asked when it is held: most entries are files, and need no look at all.
      for (const { name, directory } of entries)
        if (directory && foldName(name.toString()) !== ".git") todo.push([...here, name]);
    });
  }
  return removed;
}

/** Holds the directory at a path of bytes and calls `use`; does nothing when it is no directory (any more). */
function descend(ground: Ground, path: readonly Buffer[], use: (held: Held) => void): void {
  let held = ground.top;
  try {
    for (const name of path) {
      const next = ground.handles.hold(held, name);
      if (held !== ground.top) ground.handles.close(held);
      held = next ?? ground.top;
      if (next === undefined) return;
      if (next.stat.kind !== "directory" || next.stat.device !== ground.top.stat.device) return;
    }
    use(held);
  } catch (thrown) {
    // Directories that cannot be read hold nothing of ours: gin could not have written there either.
    if (errnoOf(thrown) !== "EACCES")
      throw ioError(thrown, Buffer.concat(path.flatMap((name) => [name, Buffer.from("/")])).toString());
  } finally {
    if (held !== ground.top) ground.handles.close(held);
  }
}

function sweepOne(ground: Ground, held: Held, names: readonly Buffer[], directory: string, keep: ReadonlySet<string>): number {
  let removed = 0;
  for (const bytes of names) {
    const name = bytes.toString();
    if (!isTemp(name) || keep.has(directory === "" ? name : `${directory}/${name}`)) continue;
    const at = ground.handles.at(held, name);
    const stat = lstatIfThere(ground.fs, at);
    if (stat?.kind !== "file" && stat?.kind !== "symlink") continue;
    ground.fs.unlinkSync(at);
    removed++;
  }
  return removed;
}
