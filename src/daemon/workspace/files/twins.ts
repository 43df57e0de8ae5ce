import type { Folding, Ground } from "./ground.ts";
import { type Held, lstatIfThere } from "./handles.ts";

/** Gives a name in the form under which a file system that folds so compares it. */
function keyOf(folding: Folding, name: string): string {
  const letters = folding.letters ? name.toUpperCase().toLowerCase() : name;
  return folding.form ? letters.normalize("NFC") : letters;
}

/** The key under which the file system keeps a canonical path; the path itself where nothing folds. */
export function twinKey(folding: Folding, path: string): string {
  return folding.letters || folding.form
    ? path
        .split("/")
        .map((name) => keyOf(folding, name))
        .join("/")
    : path;
}

/**
 * The real name of an entry that was found under `name` but is spelled otherwise in its directory; undefined when it is
 * spelled so. Costs a listing, and only where the file system folds names.
 */
export function twinOf(ground: Ground, directory: Held, name: string, held: Held): string | undefined {
  const { fs, folding, handles } = ground;
  if (!folding.letters && !folding.form) return undefined;
  const names = fs.readdirSync(handles.self(directory));
  const bytes = Buffer.from(name);
  if (names.some((other) => other.equals(bytes))) return undefined;
  const key = keyOf(folding, name);
  const alike = names.find((other) => keyOf(folding, other.toString()) === key);
  if (alike !== undefined) return alike.toString();
  // A short name (8.3), or folding by another table than ours: found by identity. None at all: it vanished meanwhile.
  return names.find((other) => isSame(ground, directory, other, held))?.toString();
}

function isSame(ground: Ground, directory: Held, name: Buffer, held: Held): boolean {
  const stat = lstatIfThere(ground.fs, ground.handles.at(directory, name));
  return stat !== undefined && stat.inode === held.stat.inode && stat.device === held.stat.device;
}
