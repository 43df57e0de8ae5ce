import { type Clock, type Log, Pace } from "../base/index.ts";
import type { Content, SpanRow, Store } from "../store/index.ts";
import { type Chain, chainTo } from "./origin-chain.ts";
import { lastChange } from "./origin-changes.ts";
import { Facts } from "./origin-facts.ts";
import { advance } from "./origin-step.ts";
import type { FileOrigin, OriginFact, OriginOptions, OriginSpan, Origins } from "./origin-types.ts";
import { revalue, UNKNOWN, uniform } from "./spans.ts";
import { Shared } from "./spans-shared.ts";
import { decodeSpans, encodeSpans, type Kept, NO_FACTS, type SpanState } from "./spans-state.ts";
import { Texts } from "./spans-texts.ts";
import type { Differ } from "./types.ts";

/** What origin stands on. */
export interface OriginsParts {
  readonly store: Pick<Store, "read" | "write">;
  readonly differ: Pick<Differ, "edits">;
  readonly clock: Clock;
  readonly log: Log;
}

/** States held in memory, and runs in all of them together. */
const STATES = 512;
const RUNS = 400_000;
/** Touches since the last kept spans after which new ones are kept; of those every 128th touch is a milestone that stays. */
const KEEP_AFTER = 16;
const MILESTONE = 128;

/** Makes the origin of a daemon's workspaces. It holds nothing that a new one would not find out again. */
export function createOrigins(parts: OriginsParts): Origins {
  return new SpanOrigins(parts);
}

class SpanOrigins implements Origins {
  readonly #parts: OriginsParts;
  readonly #texts: Texts;
  readonly #facts: Facts;
  readonly #shared = new Shared<SpanState | undefined>();
  /** Newest used last. */
  readonly #states = new Map<string, SpanState>();
  #runs = 0;

  constructor(parts: OriginsParts) {
    this.#parts = parts;
    this.#texts = new Texts(parts.store.read, parts.differ);
    this.#facts = new Facts(parts.store.read);
  }

  async file(
    workspace: number,
    path: string,
    generation: number,
    content: Content,
    options: OriginOptions = {},
  ): Promise<FileOrigin> {
    let state = await this.#fileState(workspace, path, generation, content, options);
    if (!this.#told(workspace, state)) {
      // gc let go of checkpoints since it was worked out: what it kept of them is in the store.
      this.#states.clear();
      this.#runs = 0;
      state = this.#blurred(workspace, path, await this.#fileState(workspace, path, generation, content, options));
    }
    let line = 1;
    const spans = state.runs.map(({ lines, value }): OriginSpan => {
      const startLine = state.text ? line : 0;
      line += lines;
      return { startLine, endLine: state.text ? line - 1 : 0, origin: this.#facts.of(workspace, value, state.facts) };
    });
    return { sha256: content.sha256, text: state.text, lineCount: state.text ? line - 1 : 0, spans };
  }

  /** Whether it is known who made every line that is not unknown. */
  #told(workspace: number, { runs, facts }: SpanState): boolean {
    return runs.every(({ value }) => value < 0 || this.#facts.of(workspace, value, facts) !== undefined);
  }

  /** Lines whose checkpoints nobody kept are unknown. */
  #blurred(workspace: number, path: string, state: SpanState): SpanState {
    if (this.#told(workspace, state)) return state;
    const known = (value: number): boolean => this.#facts.of(workspace, value, state.facts) !== undefined;
    const blurred = { ...state, runs: revalue(state.runs, (value) => (known(value) ? value : UNKNOWN)) };
    this.#remember(keyOf(workspace, path, state.generation), blurred);
    return blurred;
  }

  async lastChanges(
    workspace: number,
    paths: readonly string[],
    generation: number,
    signal?: AbortSignal,
  ): Promise<(OriginFact | undefined)[]> {
    const pace = new Pace(this.#parts.clock, signal);
    const found: (OriginFact | undefined)[] = [];
    for (const path of paths) {
      const newest = await lastChange(this.#parts.store.read, workspace, path, generation, pace);
      // Before everything recorded there is only the base.
      const value = newest ?? (generation === 0 ? 0 : UNKNOWN);
      found.push(this.#facts.of(workspace, value, NO_FACTS));
    }
    return found;
  }

  async keepSpans(workspace: number, path: string, generation: number, signal?: AbortSignal): Promise<void> {
    const { read, write } = this.#parts.store;
    const head = read.workspace(workspace)?.generation ?? generation;
    for (const until of new Set([Math.min(generation, head), head])) {
      const touched = this.#touched(workspace, path, until);
      if (touched === undefined || this.#kept(workspace, path, touched)?.whole === true) continue;
      const state = await this.#state(workspace, path, touched, signal, undefined);
      if (state === undefined || state.missing) continue;
      const made = new Set(state.runs.map(({ value }) => value));
      const facts = [...made].map((value) => this.#facts.of(workspace, value, state.facts)).filter((one) => one !== undefined);
      await write("spans", { rows: [rowOf(workspace, path, state, facts, { milestone: true, whole: true })] });
    }
  }

  async #fileState(
    workspace: number,
    path: string,
    generation: number,
    content: Content,
    { signal, bytes }: OriginOptions,
  ): Promise<SpanState> {
    const touched = generation === 0 ? undefined : this.#touched(workspace, path, generation);
    const state = touched === undefined ? undefined : await this.#state(workspace, path, touched, signal, bytes);
    if (state?.sha256 === content.sha256) return state;
    // The base was there before everything recorded. Anything else without a touch that explains it is not told any more.
    const text = this.#texts.text(content, bytes);
    const lines = typeof text === "object" ? text.count : 1;
    const runs = uniform(lines, generation === 0 ? 0 : UNKNOWN);
    const known = { sha256: content.sha256, text: typeof text === "object", missing: text === "missing" };
    return { ...known, generation, runs, depth: 0, keptAt: 0, facts: NO_FACTS };
  }

  /** The newest generation up to `until` that touched the path, as far as touches or kept spans still tell. */
  #touched(workspace: number, path: string, until: number): number | undefined {
    const { read } = this.#parts.store;
    return read.lastGeneration(workspace, path, until) ?? read.span(workspace, path, until)?.generation;
  }

  /** The state at a generation that touched the path. Undefined when the path was absent then. */
  async #state(
    workspace: number,
    path: string,
    generation: number,
    signal: AbortSignal | undefined,
    bytes: Uint8Array | undefined,
  ): Promise<SpanState | undefined> {
    const key = keyOf(workspace, path, generation);
    return (
      this.#remembered(key) ??
      this.#shared.run(bytes === undefined ? key : `${key}\0bytes`, signal, (until) =>
        this.#compute(workspace, path, generation, new Pace(this.#parts.clock, until), bytes),
      )
    );
  }

  async #compute(
    workspace: number,
    path: string,
    generation: number,
    pace: Pace,
    bytes: Uint8Array | undefined,
  ): Promise<SpanState | undefined> {
    const { read } = this.#parts.store;
    const known = (name: string, at: number) => this.#remembered(keyOf(workspace, name, at));
    const keptBefore = (name: string, until: number) => {
      const row = read.span(workspace, name, until);
      return row && { generation: row.generation, load: () => decodeSpans(row).state };
    };
    const chain = await chainTo(read, workspace, path, generation, known, keptBefore, pace);
    return this.#walk(workspace, chain, pace, bytes);
  }

  async #walk(workspace: number, chain: Chain, pace: Pace, bytes: Uint8Array | undefined): Promise<SpanState | undefined> {
    const pins = await this.#pins(workspace, chain, pace);
    const stateAt = async (path: string, until: number): Promise<SpanState | undefined> => {
      const touched = this.#touched(workspace, path, until);
      if (touched === undefined) return undefined;
      const key = keyOf(workspace, path, touched);
      return pins.get(key) ?? this.#remembered(key) ?? this.#compute(workspace, path, touched, pace, undefined);
    };
    const rows: SpanRow[] = [];
    let state = chain.base;
    let path: string | undefined;
    for (const [index, step] of chain.steps.entries()) {
      const last = index === chain.steps.length - 1;
      state = await advance(state, step, { texts: this.#texts, pace, stateAt, bytes: last ? bytes : undefined });
      path = step.path;
      await pace.next();
      if (state === undefined) continue;
      const key = keyOf(workspace, path, step.generation);
      if (pins.has(key)) pins.set(key, state);
      const milestone = state.depth % MILESTONE === 0;
      if (state.missing || !(milestone || (last && state.depth - state.keptAt >= KEEP_AFTER))) continue;
      rows.push(rowOf(workspace, path, state, state.facts.values(), { milestone, whole: false }));
      state = { ...state, keptAt: state.depth };
    }
    if (state === undefined || state === "unknown") return undefined;
    if (path !== undefined) this.#remember(keyOf(workspace, path, state.generation), state);
    this.#keep(workspace, rows);
    return state;
  }

  /** Which states on the way an undo further on will ask for: only these are held. */
  async #pins(workspace: number, chain: Chain, pace: Pace): Promise<Map<string, SpanState | undefined>> {
    const pins = new Map<string, SpanState | undefined>();
    for (const { restores } of chain.steps) {
      for (const { path, generation } of restores) {
        const touched = this.#touched(workspace, path, generation - 1);
        if (touched !== undefined) pins.set(keyOf(workspace, path, touched), undefined);
        await pace.next();
      }
    }
    return pins;
  }

  #kept(workspace: number, path: string, generation: number): Kept | undefined {
    const row = this.#parts.store.read.span(workspace, path, generation);
    return row?.generation === generation ? decodeSpans(row) : undefined;
  }

  /** Not waited for: whoever asked has the answer, and what is not kept is computed again. */
  #keep(workspace: number, rows: readonly SpanRow[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    const { read, write } = this.#parts.store;
    const before = read.span(workspace, last.path, last.generation - 1);
    const passing =
      before !== undefined && rows.every((row) => row.generation !== before.generation) && !decodeSpans(before).milestone;
    write("spans", { rows, ...(passing ? { forget: [before.generation] } : {}) }).catch((thrown: unknown) =>
      this.#parts.log.warn({ err: thrown }, "spans were not kept"),
    );
  }

  #remembered(key: string): SpanState | undefined {
    const state = this.#states.get(key);
    if (state === undefined) return undefined;
    this.#states.delete(key);
    this.#states.set(key, state);
    return state;
  }

  #remember(key: string, state: SpanState): void {
    if (state.missing) return;
    this.#runs += state.runs.length - (this.#states.get(key)?.runs.length ?? 0);
    this.#states.delete(key);
    this.#states.set(key, state);
    for (const [old, { runs }] of this.#states) {
      if ((this.#states.size <= STATES && this.#runs <= RUNS) || this.#states.size === 1) break;
      this.#states.delete(old);
      this.#runs -= runs.length;
    }
  }
}

function keyOf(workspace: number, path: string, generation: number): string {
  return `${workspace}\0${generation}\0${path}`;
}

function rowOf(
  workspace: number,
  path: string,
  state: SpanState,
  facts: Iterable<OriginFact>,
  kind: { readonly milestone: boolean; readonly whole: boolean },
): SpanRow {
  return { workspace, path, generation: state.generation, sha256: state.sha256, body: encodeSpans(state, facts, kind) };
}
