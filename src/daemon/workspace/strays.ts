import { toGinError } from "../base/index.ts";
import type { JournalStep, OpenSave } from "../store/index.ts";
import { ancestors, type Lingering, type Rescued } from "./apply.ts";
import { contentOf } from "./content.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { holdsTakenAway, type Writers } from "./files/index.ts";
import { CHANGE_BYTES } from "./limits.ts";

/** What a recovery found under gin's temp names. */
export interface Strays {
  /** Content nobody recorded. */
  readonly found: readonly Rescued[];
  /** Files somebody may still be writing to, or that could not be read: they stay where they are. */
  readonly open: readonly Lingering[];
  /** Temps with a row whose file is gone, or that nobody can write to any more. */
  readonly gone: readonly string[];
}

/**
 * Looks into gin's temps: those beside the paths of open saves, and those with a row of their own. A save killed between
 * exchange and inspection leaves there what it displaced; content the store does not know is somebody's edit, and is recorded
 * before the temp goes. A temp that was only staged, by a save that was never committed, is nobody's and goes unread.
 */
export function inspectTemps(deps: WorkspaceDeps, saves: readonly OpenSave[]): Strays {
  const found: Rescued[] = [];
  const open: Lingering[] = [];
  const rows = new Map(deps.store.read.lingering(deps.row.rowid).map((row) => [row.temp, row.path]));
  const kept = new Set<string>();
  for (const [temp, path] of [...temps(deps, saves), ...rows]) {
    if (kept.has(temp)) continue;
    kept.add(temp);
    const stray = read(deps, temp);
    if (stray === undefined) continue;
    const { read: held, writers } = stray;
    if (held !== undefined && !deps.store.read.hasObject(held.content.sha256)) found.push({ path, ...held });
    if (writers !== "none") open.push({ path, temp, seen: held?.content.sha256, writers });
  }
  const stays = new Set(open.map((one) => one.temp));
  return { found, open, gone: [...rows.keys()].filter((temp) => !stays.has(temp)) };
}

/** Temps that may hold what an open save displaced, each with the path it stood at. */
function* temps(deps: WorkspaceDeps, saves: readonly OpenSave[]): Generator<[temp: string, path: string]> {
  const byTemp = new Map<string, JournalStep>();
  const byDirectory = new Map<string, JournalStep[]>();
  for (const save of saves) {
    for (const step of save.steps) {
      if (step.temp !== undefined) byTemp.set(step.temp, step);
      const directory = ancestors(step.path).at(-1) ?? "";
      byDirectory.set(directory, [...(byDirectory.get(directory) ?? []), step]);
    }
  }
  for (const [directory, steps] of byDirectory) {
    for (const temp of deps.root.temps(directory)) {
      // What was taken away lies under a name of its own, beside the path it came from: one of those a save removes here.
      const taken = holdsTakenAway(temp) ? (steps.findLast((one) => one.after === null) ?? steps.at(-1)) : undefined;
      const step = byTemp.get(temp) ?? taken;
      if (step !== undefined) yield [temp, step.path];
    }
  }
}

interface Stray {
  readonly writers: Writers;
  /** Undefined when it could not be looked at: nobody can say then who writes to it either. */
  readonly read: Pick<Rescued, "content" | "bytes"> | undefined;
}

/** Undefined for what is gone. What cannot be read or kept stays, and is no reason not to start. */
function read(deps: WorkspaceDeps, temp: string): Stray | undefined {
  try {
    const writers = deps.root.writers(temp);
    const { bytes, stat } = deps.root.readTemp(temp, CHANGE_BYTES);
    return { writers, read: { content: contentOf(bytes, stat), bytes } };
  } catch (thrown) {
    const { reason } = toGinError(thrown);
    if (reason === "PATH_NOT_FOUND") return undefined;
    deps.log.warn({ temp, reason }, "a temp could not be looked at in recovery; it is kept");
    return { writers: "unknown", read: undefined };
  }
}
