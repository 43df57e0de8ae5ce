import type { GarbageOptions, GarbageReport, GarbageStep, SaveCommit, Store } from "../../../src/daemon/store/index.ts";
import type { Line } from "./line.ts";

export const DAY = 86_400_000;

export function limits(more: Partial<GarbageOptions> = {}): GarbageOptions {
  return {
    nowMs: 10 * DAY,
    quotaBytes: 2 ** 31,
    checkpointMs: 90 * DAY,
    checkpointCount: 100_000,
    graceMs: 0,
    dryRun: false,
    ...more,
  };
}

/** A whole run, with something done after each slice. */
export async function collect(
  store: Store,
  options: GarbageOptions,
  between: (slice: number, phase: string) => Promise<void> = async () => {},
): Promise<GarbageReport> {
  await store.write("gc.begin", options);
  let durable = false;
  for (let slice = 0; ; slice++) {
    const step: GarbageStep = await store.write("gc.step", { durable });
    if (step.phase === "done") return step.report;
    if (step.phase === "lost") throw new Error(`the run was lost in slice ${slice}`);
    ({ durable } = step);
    await between(slice, step.phase);
  }
}

/** The save as the engine plans it: what the store has is counted on, not brought along. */
export function counting(store: Store, save: SaveCommit): SaveCommit {
  const has = (sha256: string) => store.read.hasObject(sha256);
  return {
    ...save,
    objects: save.objects.filter(({ sha256 }) => !has(sha256)),
    counts: save.objects.map(({ sha256 }) => sha256).filter(has),
  };
}

/** What is not as it should be: each generation from `kept_from` on, and base, must be there to the last byte. */
export function holes(line: Line): string[] {
  const { store, rowid } = line;
  const row = store.read.workspace(rowid);
  if (row === undefined) return ["no workspace"];
  const found: string[] = [];
  const seen = new Set<string>();
  const trees = new Map<string, string>([["head", row.tree]]);
  const base = row.base === "" ? undefined : store.read.checkpoint(row.base);
  if (base !== undefined) trees.set("base", base.tree);
  for (let generation = Math.max(1, row.keptFrom); generation <= row.generation; generation++) {
    const checkpoint = store.read.checkpointAt(rowid, generation);
    if (checkpoint === undefined) found.push(`generation ${generation} has no row`);
    else trees.set(`generation ${generation}`, checkpoint.tree);
  }
  for (const [name, tree] of trees) {
    if (seen.has(tree)) continue;
    seen.add(tree);
    try {
      for (const { path, content } of store.trees.walk(tree, "")) {
        if (seen.has(content.sha256)) continue;
        seen.add(content.sha256);
        if (store.read.object(content.sha256)?.length !== content.size) found.push(`${name} lacks ${path}`);
      }
    } catch (thrown) {
      found.push(`${name}: ${String(thrown)}`);
    }
  }
  return found;
}
