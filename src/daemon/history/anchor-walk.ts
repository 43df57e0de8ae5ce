import type { Pace } from "../base/index.ts";
import type { Content, Hash, PathState, PathTouch, StoreReader } from "../store/index.ts";
import type { AnchoredLines } from "./anchor-types.ts";
import { carry, FRESH, linesOf, meet, NONE, type Run, revalue, uniform } from "./spans.ts";
import type { Texts } from "./spans-texts.ts";

/** How far lines were followed, and where they are there. */
export interface Walked {
  readonly generation: number;
  /** Where the content is, or was last. */
  readonly path: string;
  /** False when nothing is there. */
  readonly present: boolean;
  /** Of the content now. */
  readonly sha256: Hash;
  /**
   * Over the lines of the content: each anchored line's number then, or NONE. Undefined as long as nothing changed; empty where
   * none of them is left. For a whole file: one of 1, or empty when it is not the file any more.
   */
  readonly runs: readonly Run[] | undefined;
  readonly unknown: boolean;
  /** By checkpoint: how those that are known to be taken back later found the lines. */
  readonly taken: ReadonlyMap<string, Found>;
}

/** How a checkpoint found the lines. */
interface Found {
  readonly path: string;
  readonly before: Content;
  readonly runs: readonly Run[];
}

type WalkReader = Pick<StoreReader, "touchesAfter" | "touchAt" | "renamedTo" | "undone" | "undoneBy" | "checkpoint">;

/** Touches read at a time. */
const PAGE = 128;

/**
 * Follows lines forward by the rules of origin: what the diff core maps to itself stays, a rename keeps all, and what an undo or
 * redo brings back is the line it was.
 */
export class AnchorWalk {
  readonly #reader: WalkReader;
  readonly #texts: Texts;
  readonly #lines: AnchoredLines;
  readonly #pace: Pace;

  constructor(reader: WalkReader, texts: Texts, lines: AnchoredLines, pace: Pace) {
    this.#reader = reader;
    this.#texts = texts;
    this.#lines = lines;
    this.#pace = pace;
  }

  /** Goes on from `start`, or from where the lines were anchored, to what a generation holds. */
  async to(generation: number, start: Walked | undefined): Promise<Walked> {
    const { workspace, path, sha256, generation: from } = this.#lines;
    let at: Walked = start ?? {
      generation: from,
      path,
      present: true,
      sha256,
      runs: undefined,
      unknown: false,
      taken: new Map(),
    };
    for (;;) {
      const page = at.unknown ? [] : this.#reader.touchesAfter(workspace, at.path, at.generation, generation, PAGE);
      if (page.length === 0) return { ...at, generation };
      const { path: name } = at;
      for (const touch of page) {
        at = { ...(await this.#step(at, touch)), generation: touch.generation };
        await this.#pace.next();
        if (at.path !== name || at.unknown) break;
      }
    }
  }

  async #step(at: Walked, touch: PathTouch): Promise<Walked> {
    const { workspace } = this.#lines;
    const undoing = touch.cause === "undo" || touch.cause === "redo";
    // The base is not told by touches: what was imported over it came to a path that nothing had touched.
    const base: PathState = at.runs === undefined ? { kind: "file", sha256: at.sha256, size: 0, executable: false } : null;
    const before = touch.before ?? base;
    const to = this.#reader.renamedTo(workspace, touch.path, touch.generation);
    const target = to === undefined ? touch : (this.#reader.touchAt(workspace, to, touch.generation) ?? touch);
    const begun = before === null ? at : this.#begin(at, before, target.after);
    if (begun.unknown) return begun;
    const noted = { ...begun, taken: this.#note(begun, touch, before) };
    // A path that another was renamed onto holds the other's lines now.
    const replaced = to === undefined && touch.renamedFrom !== undefined;
    const here = await this.#carry(noted, replaced ? null : before, target.after, target.path, undoing);
    return undoing && !here.unknown && !sameContent(before, target.after) ? this.#bringBack(here, touch) : here;
  }

  /** The runs of the content as it was anchored, once it changes. */
  #begin(at: Walked, before: Content, after: PathState): Walked {
    const { startLine, endLine } = this.#lines;
    if (at.runs !== undefined) return at;
    if (startLine === 0) return { ...at, runs: uniform(1, 1) };
    if (sameContent(before, after)) return at;
    const text = this.#texts.text(before);
    if (typeof text !== "object") return { ...at, unknown: true };
    const anchored = Array.from({ length: endLine - startLine + 1 }, (_, index) => ({ lines: 1, value: startLine + index }));
    return { ...at, runs: [...uniform(startLine - 1, NONE), ...anchored, ...uniform(text.count - endLine, NONE)] };
  }

  /** Keeps how a checkpoint found the lines, when it is known to be taken back. */
  #note(at: Walked, touch: PathTouch, before: PathState): Walked["taken"] {
    if (before === null || at.runs === undefined || !followed(at.runs)) return at.taken;
    if (this.#reader.undoneBy(touch.checkpoint).length === 0) return at.taken;
    return new Map(at.taken).set(touch.checkpoint, { path: at.path, before, runs: at.runs });
  }

  async #carry(at: Walked, before: PathState, after: PathState, path: string, undoing: boolean): Promise<Walked> {
    if (after === null) return { ...at, path, present: false, runs: [], sha256: "" };
    const there = { ...at, path, present: true, sha256: after.sha256 };
    if (sameContent(before, after)) return there;
    if (this.#lines.startLine === 0) return before === null ? { ...there, runs: [] } : there;
    if (before?.kind !== after.kind) return { ...there, runs: undoing ? this.#fresh(after) : [] };
    if (at.runs === undefined) return there;
    // With none left there is nothing to carry; only an undo may bring some back.
    if (!undoing && !followed(at.runs)) return { ...there, runs: [] };
    const runs = await this.#mapped(at.runs, before, after, undoing ? FRESH : NONE);
    if (runs !== undefined) return { ...there, runs };
    return { ...there, runs: [], unknown: followed(at.runs) };
  }

  #fresh(content: Content): Run[] {
    const text = this.#texts.text(content);
    return typeof text === "object" ? uniform(text.count, FRESH) : [];
  }

  /** Runs of one content on the lines of another; undefined where that cannot be told. Empty runs stand for lines of none. */
  async #mapped(runs: readonly Run[], before: Content, after: Content, fill: number): Promise<Run[] | undefined> {
    const a = this.#texts.text(before);
    const b = this.#texts.text(after);
    if (a === "missing" || b === "missing") return undefined;
    if (b === "other") return uniform(1, NONE);
    if (a === "other") return uniform(b.count, fill);
    const edits = await this.#texts.edits(before.sha256, a, after.sha256, b, this.#pace);
    if (edits === "missing") return undefined;
    return carry(runs.length === 0 ? uniform(a.count, NONE) : runs, edits, fill);
  }

  /** Of an undo or redo: lines it brought back are the lines they were, and what else came in is not followed. */
  async #bringBack(at: Walked, touch: PathTouch): Promise<Walked> {
    let here = at;
    const { startLine, endLine } = this.#lines;
    const all = startLine === 0 ? 1 : endLine - startLine + 1;
    for (const id of this.#reader.undone(touch.checkpoint)) {
      if (here.unknown || (here.present && linesOf((here.runs ?? []).filter(({ value }) => value > 0)) === all)) break;
      const found = here.taken.get(id) ?? (await this.#foundBy(id, touch.generation));
      if (found !== undefined) here = await this.#overlay(here, touch, found);
    }
    if (here.runs === undefined) return here;
    return { ...here, runs: revalue(here.runs, (value) => (value === FRESH ? NONE : value)) };
  }

  /** How a checkpoint found the lines, walked anew: when it was passed nobody knew that it would be taken back. */
  async #foundBy(checkpoint: string, before: number): Promise<Found | undefined> {
    const { workspace, generation } = this.#lines;
    const taken = this.#reader.checkpoint(checkpoint);
    if (taken === undefined || taken.workspace !== workspace) return undefined;
    if (taken.generation <= generation || taken.generation >= before) return undefined;
    const walked = await new AnchorWalk(this.#reader, this.#texts, this.#lines, this.#pace).to(taken.generation - 1, undefined);
    const content = this.#reader.touchAt(workspace, walked.path, taken.generation)?.before ?? null;
    if (content === null || !walked.present || walked.unknown) return undefined;
    const { runs } = this.#begin(walked, content, null);
    return runs === undefined || !followed(runs) ? undefined : { path: walked.path, before: content, runs };
  }

  async #overlay(at: Walked, touch: PathTouch, found: Found): Promise<Walked> {
    const path = at.present ? at.path : found.path;
    const after = this.#reader.touchAt(this.#lines.workspace, path, touch.generation)?.after ?? null;
    if (after === null || after.kind !== found.before.kind) return at;
    const back = { ...at, path, present: true, sha256: after.sha256 };
    if (this.#lines.startLine === 0) return { ...back, runs: uniform(1, 1) };
    const same = found.before.sha256 === after.sha256;
    const there = same ? found.runs : await this.#mapped(found.runs, found.before, after, NONE);
    if (there === undefined) return { ...back, unknown: true };
    const here = at.present && path === at.path ? (at.runs ?? []) : uniform(linesOf(there), FRESH);
    const seen = new Set(here.map(({ value }) => value));
    return {
      ...back,
      runs: meet(here, there, (value, old) => (value === FRESH && old !== NONE && !seen.has(old) ? old : value)),
    };
  }
}

function sameContent(before: PathState, after: PathState): boolean {
  return before !== null && after !== null && before.kind === after.kind && before.sha256 === after.sha256;
}

/** True when some of the lines are left. */
export function followed(runs: readonly Run[]): boolean {
  return runs.some(({ value }) => value !== NONE && value !== FRESH);
}
