import type { Pace } from "../base/index.ts";
import type { Content } from "../store/index.ts";
import type { Lines } from "./lines.ts";
import { type Restore, type Step, sameBytes } from "./origin-chain.ts";
import { carry, FRESH, holds, meet, NONE, type Run, revalue, UNKNOWN, uniform } from "./spans.ts";
import { factsOf, forgotten, NO_FACTS, type SpanState } from "./spans-state.ts";
import type { Texts } from "./spans-texts.ts";

/** What a step is worked out with. */
export interface StepParts {
  readonly texts: Texts;
  readonly pace: Pace;
  /** The state a path had up to a generation. */
  readonly stateAt: (path: string, generation: number) => Promise<SpanState | undefined>;
  /** Bytes of the last step's content, when the caller has them. */
  readonly bytes?: Uint8Array | undefined;
}

/**
 * The state after a step, from the state before it ("unknown" where history does not tell). Undefined when the path is absent
 * afterwards. The rules: what the diff core maps to itself keeps its origin; what comes in has the checkpoint; of that, an
 * undo's or redo's lines that stood in what was taken back have the origin they had there.
 */
export async function advance(
  previous: SpanState | undefined | "unknown",
  step: Step,
  parts: StepParts,
): Promise<SpanState | undefined> {
  const { before, after, generation } = step;
  if (after === null) return undefined;
  const known = previous === "unknown" ? undefined : previous;
  const text = parts.texts.text(after, parts.bytes);
  const counts = { generation, depth: (known?.depth ?? 0) + 1, keptAt: known?.keptAt ?? 0 };
  const state = { ...counts, sha256: after.sha256, missing: text === "missing", text: typeof text === "object" };
  const alone = (value: number) => ({
    ...state,
    runs: uniform(typeof text === "object" ? text.count : 1, value),
    facts: NO_FACTS,
  });
  if (sameBytes(step)) {
    if (known !== undefined && (known.text || !state.text)) return { ...known, ...counts };
    // Told without its bytes before: then all of it had one origin, or none that is known.
    return alone(known?.runs[0]?.value ?? UNKNOWN);
  }
  if (typeof text !== "object") {
    if (text === "missing" && before !== null) return alone(UNKNOWN);
    const whole = await wholeRestored(step, after, parts);
    return whole === undefined ? alone(step.blurred ? UNKNOWN : generation) : { ...whole, ...counts };
  }
  const carried = await fromBefore(known, step, text, parts);
  if (step.restores.length === 0 || !holds(carried, FRESH)) {
    const runs = revalue(carried, (value) => (value !== FRESH ? value : step.blurred ? UNKNOWN : generation));
    return { ...state, runs, facts: factsOf(runs, known?.facts ?? NO_FACTS) };
  }
  return { ...state, ...(await restored(carried, known, step, after, text, parts)) };
}

/** For a content without lines that an undo brought back whole: the state it had. */
async function wholeRestored(step: Step, after: Content, parts: StepParts): Promise<SpanState | undefined> {
  for (const { before, path, generation } of step.restores) {
    if (before?.sha256 !== after.sha256 || before.kind !== after.kind) continue;
    const state = await parts.stateAt(path, generation - 1);
    if (state !== undefined) return state;
  }
  return undefined;
}

/** The lines of the new text: carried over where they were there before, FRESH where they came in, UNKNOWN where that cannot be told. */
async function fromBefore(known: SpanState | undefined, step: Step, text: Lines, parts: StepParts): Promise<Run[]> {
  const { before, after } = step;
  if (before === null || after === null) return uniform(text.count, FRESH);
  const old = parts.texts.text(before);
  if (old === "other") return uniform(text.count, FRESH);
  if (old === "missing") return uniform(text.count, UNKNOWN);
  const edits = await parts.texts.edits(before.sha256, old, after.sha256, text, parts.pace);
  if (edits === "missing") return uniform(text.count, UNKNOWN);
  const runs = known?.text === true && known.sha256 === before.sha256 ? known.runs : uniform(old.count, UNKNOWN);
  return carry(runs, edits, FRESH);
}

/** Gives fresh lines of an undo the origin they had; one that was itself taken back only where there is no other. */
async function restored(
  carried: readonly Run[],
  known: SpanState | undefined,
  step: Step,
  after: Content,
  text: Lines,
  parts: StepParts,
): Promise<Pick<SpanState, "runs" | "facts">> {
  const taken = new Set(step.restores.map((one) => one.generation));
  const facts = [known?.facts ?? NO_FACTS];
  let runs: readonly Run[] = carried;
  let second: readonly Run[] = uniform(text.count, NONE);
  let { blurred } = step;
  for (const restore of step.restores) {
    await parts.pace.next();
    const there = await mapped(restore, after, text, parts);
    if (there === "missing") blurred = true;
    if (there === undefined || there === "missing") continue;
    facts.push(there.facts);
    runs = meet(runs, there.runs, (value, old) => (value === FRESH && old !== NONE && !taken.has(old) ? old : value));
    second = meet(second, there.runs, (value, old) => (value === NONE ? old : value));
    if (!holds(runs, FRESH)) break;
  }
  const own = blurred ? UNKNOWN : step.generation;
  runs = meet(runs, second, (value, old) => (value !== FRESH ? value : old !== NONE ? old : own));
  return { runs, facts: factsOf(runs, ...facts) };
}

/** The origins of what stood before a checkpoint that was taken back, on the lines of the new text; NONE where it has none of them. */
async function mapped(
  restore: Restore,
  after: Content,
  text: Lines,
  parts: StepParts,
): Promise<{ readonly runs: Run[]; readonly facts: SpanState["facts"] } | "missing" | undefined> {
  const { before, path, generation } = restore;
  if (before === null) return undefined;
  const old = parts.texts.text(before);
  if (old === "missing") return "missing";
  if (old === "other") return undefined;
  const edits = await parts.texts.edits(before.sha256, old, after.sha256, text, parts.pace);
  if (edits === "missing") return "missing";
  const state = await parts.stateAt(path, generation - 1);
  const fits = state?.text === true && state.sha256 === before.sha256;
  return {
    runs: carry(fits ? state.runs : forgotten(uniform(old.count, UNKNOWN)), edits, NONE),
    facts: state?.facts ?? NO_FACTS,
  };
}
