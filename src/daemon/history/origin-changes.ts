import type { Pace } from "../base/index.ts";
import type { StoreReader } from "../store/index.ts";

/** Touches looked at in one go: about two milliseconds. */
const ROWS = 10_000;

/** The newest generation up to `until` that touched a path or anything below it; undefined for none. */
export async function lastChange(
  reader: Pick<StoreReader, "lastGeneration" | "lastGenerationBetween">,
  workspace: number,
  path: string,
  until: number,
  pace: Pace,
): Promise<number | undefined> {
  let newest = path === "" ? undefined : reader.lastGeneration(workspace, path, until);
  // "0" is the character after "/": what lies between is below the path. Below the root is everything.
  let from: string | undefined = path === "" ? "" : `${path}/`;
  const below = path === "" ? "\u{10ffff}" : `${path}0`;
  while (from !== undefined) {
    await pace.next();
    const some = reader.lastGenerationBetween(workspace, from, below, until, ROWS);
    newest = later(newest, some.generation);
    if (some.next !== undefined) {
      // The next slice starts behind this path, which may have touches left.
      newest = later(newest, reader.lastGeneration(workspace, some.next, until));
      from = `${some.next}\0`;
    } else from = undefined;
  }
  return newest;
}

function later(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.max(one, other);
}
