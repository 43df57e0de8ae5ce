import { type Clock, Pace } from "../base/index.ts";
import type { Store } from "../store/index.ts";
import type { AnchoredLines, AnchorPlace, Anchors } from "./anchor-types.ts";
import { AnchorWalk, followed, type Walked } from "./anchor-walk.ts";
import { NONE } from "./spans.ts";
import { Texts } from "./spans-texts.ts";
import type { Differ } from "./types.ts";

/** What following lines stands on. */
export interface AnchorsParts {
  readonly store: Pick<Store, "read">;
  readonly differ: Pick<Differ, "edits">;
  readonly clock: Clock;
}

/** Runs of lines held in memory at most, over all anchors whose way so far is known, so that only new checkpoints are gone through. */
const RUNS = 1_000_000;

/** What a walk counts for beside its runs. */
const MIN_RUNS = 100;

/** Makes what follows anchored lines. */
export function createAnchors({ store, differ, clock }: AnchorsParts): Anchors {
  const texts = new Texts(store.read, differ);
  const walks = new Map<string, { readonly walked: Walked; readonly runs: number }>();
  let held = 0;
  const forget = (key: string): void => {
    held -= walks.get(key)?.runs ?? 0;
    walks.delete(key);
  };
  return {
    async follow(lines, generation, signal) {
      const key = JSON.stringify([lines.workspace, lines.path, lines.generation, lines.startLine, lines.endLine]);
      const before = walks.get(key)?.walked;
      const pace = new Pace(clock, signal);
      pace.check();
      const start = before !== undefined && before.generation <= generation ? before : undefined;
      const walked = await new AnchorWalk(store.read, texts, lines, pace).to(generation, start);
      if (start === before) {
        forget(key);
        const runs = runsOf(walked);
        walks.set(key, { walked, runs });
        held += runs;
        for (const old of walks.keys()) {
          if (held <= RUNS) break;
          forget(old);
        }
      }
      return placeOf(lines, walked);
    },
  };
}

/** What a walk takes up. */
function runsOf({ runs, taken }: Walked): number {
  let sum = MIN_RUNS + (runs?.length ?? 0);
  for (const found of taken.values()) sum += MIN_RUNS + found.runs.length;
  return sum;
}

function placeOf(lines: AnchoredLines, walked: Walked): AnchorPlace {
  const { path } = walked;
  if (walked.unknown) return { standing: "unknown", path: "", startLine: 0, endLine: 0 };
  if (lines.startLine === 0) {
    if (!walked.present || (walked.runs !== undefined && !followed(walked.runs))) return gone();
    const standing = walked.sha256 !== lines.sha256 ? "changed" : path === lines.path ? "same" : "moved";
    return { standing, path, startLine: 0, endLine: 0 };
  }
  // Never gone through: the lines stand as they were.
  if (walked.runs === undefined) {
    const { startLine, endLine } = lines;
    return { standing: path === lines.path ? "same" : "moved", path, startLine, endLine };
  }
  let line = 0;
  let left = 0;
  let first = 0;
  let last = 0;
  let inPlace = path === lines.path;
  for (const run of walked.runs) {
    if (run.value !== NONE) {
      if (left === 0) first = line + 1;
      last = line + run.lines;
      left += run.lines;
      // Each line has a value of its own, its number then, so such a run is one line.
      inPlace &&= run.value === line + 1;
    }
    line += run.lines;
  }
  if (left === 0) return gone();
  const all = left === lines.endLine - lines.startLine + 1;
  return { standing: !all ? "changed" : inPlace ? "same" : "moved", path, startLine: first, endLine: last };
}

function gone(): AnchorPlace {
  return { standing: "gone", path: "", startLine: 0, endLine: 0 };
}
