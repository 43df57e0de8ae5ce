import { errnoOf } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import { protectedName } from "./refuse.ts";
import { checkNewName, checkPath } from "./syntax.ts";
import { ifThere } from "./temps.ts";
import { inDirectory, inParent } from "./walk.ts";

/** Answers of rmdir(2) that mean: it is in use, and stays. */
const IN_USE = new Set(["ENOTEMPTY", "EEXIST", "EBUSY", "ENOTDIR"]);

/** Makes the missing directories above a canonical path; when one cannot be made those already made go again. */
export function makeParents(ground: Ground, path: string): string[] {
  const spelled = checkPath(path);
  if (ground.guard(spelled)) throw protectedName(spelled);
  const names = spelled.split("/").slice(0, -1);
  const made: string[] = [];
  try {
    // Most often all are there: the deepest one that is tells how many are missing.
    let there = names.length;
    while (there > 0 && !isThere(ground, names.slice(0, there).join("/"))) there--;
    for (; there < names.length; there++) {
      const directory = names.slice(0, there + 1).join("/");
      if (makeOne(ground, directory)) made.push(directory);
    }
  } catch (thrown) {
    removeMade(ground, made);
    throw thrown;
  }
  return made;
}

function isThere(ground: Ground, path: string): boolean {
  return ifThere(() => inDirectory(ground, path, () => true)) ?? false;
}

/** Makes one directory; false when somebody else made it meanwhile. */
function makeOne(ground: Ground, path: string): boolean {
  return inParent(ground, path, (directory, name) => {
    checkNewName(path, name);
    try {
      ground.fs.mkdirSync(ground.handles.at(directory, name), 0o777);
      return true;
    } catch (thrown) {
      if (errnoOf(thrown) !== "EEXIST") throw thrown;
      return false;
    }
  });
}

/** Removes those of `made` that are empty now, innermost first. */
export function removeMade(ground: Ground, made: readonly string[]): void {
  for (const path of [...made].reverse()) {
    ifThere(() =>
      inParent(ground, path, (directory, name) => {
        try {
          ground.fs.rmdirSync(ground.handles.at(directory, name));
        } catch (thrown) {
          if (!IN_USE.has(errnoOf(thrown) ?? "")) throw thrown;
        }
      }),
    );
  }
}
