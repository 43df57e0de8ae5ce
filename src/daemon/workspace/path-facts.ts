import { GinError } from "../base/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import type { PathFacts } from "./types.ts";

/** What is at a path, with the beginning of a file. Throws PATH_NOT_FOUND, and what a walk of the root throws. */
export async function factsOf(
  root: ConfinedRoot,
  asked: string,
  options: { readonly authorise: (path: string) => void; readonly sampleBytes: number },
): Promise<PathFacts> {
  root.check();
  const { path, stat } = root.locate(asked, true);
  options.authorise(path);
  if (stat === undefined) throw new GinError("PATH_NOT_FOUND", `nothing is at ${path}`, undefined, { facts: { path } });
  const none = new Uint8Array(0);
  if (stat.kind !== "file" || options.sampleBytes === 0) return { path, stat, sample: none };
  const file = root.openFile(path);
  try {
    return { path, stat: file.stat, sample: await file.read(0, options.sampleBytes) };
  } finally {
    file.close();
  }
}
