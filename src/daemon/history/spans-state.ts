import type { Hash } from "../store/index.ts";
import type { OriginFact } from "./origin-types.ts";
import { type Run, revalue, UNKNOWN } from "./spans.ts";

/** Where the lines of a path's content come from, as of a generation that touched it. */
export interface SpanState {
  /** That generation. */
  readonly generation: number;
  readonly sha256: Hash;
  /** False where the content has no lines to tell apart: then there is one run of one line. */
  readonly text: boolean;
  /** Values are generations, or UNKNOWN. */
  readonly runs: readonly Run[];
  /** Whether this was told without the content's own bytes: not to be kept. */
  readonly missing: boolean;
  /** Touches since the content began, and how many of them the newest kept spans on the way had. */
  readonly depth: number;
  readonly keptAt: number;
  /** Who made lines whose checkpoints may be gone from the log. */
  readonly facts: ReadonlyMap<number, OriginFact>;
}

/** No facts beside the log's. */
export const NO_FACTS: ReadonlyMap<number, OriginFact> = new Map();

/** What a kept row is good for: every 128th is a milestone that stays, "whole" ones need nothing of the log. */
export interface Kept {
  readonly state: SpanState;
  readonly milestone: boolean;
  readonly whole: boolean;
}

interface Body {
  readonly text: boolean;
  readonly milestone: boolean;
  readonly whole: boolean;
  readonly depth: number;
  /** Lines and value by turns. */
  readonly runs: readonly number[];
  readonly facts: readonly OriginFact[];
}

/** The state as a row's body; with `facts` of those lines whose checkpoints cannot be asked for later. */
export function encodeSpans(
  state: SpanState,
  facts: Iterable<OriginFact>,
  kind: { milestone: boolean; whole: boolean },
): Uint8Array {
  const body: Body = {
    text: state.text,
    ...kind,
    depth: state.depth,
    runs: state.runs.flatMap(({ lines, value }) => [lines, value]),
    facts: [...facts],
  };
  return Buffer.from(JSON.stringify(body));
}

/** The inverse. A row read is trusted: only this room writes it. */
export function decodeSpans(row: { readonly generation: number; readonly sha256: Hash; readonly body: Uint8Array }): Kept {
  const { buffer, byteOffset, byteLength } = row.body;
  const body = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as Body;
  const runs: Run[] = [];
  for (let at = 0; at + 1 < body.runs.length; at += 2)
    runs.push({ lines: body.runs[at] ?? 0, value: body.runs[at + 1] ?? UNKNOWN });
  const { generation, sha256 } = row;
  const facts = body.facts.length === 0 ? NO_FACTS : new Map(body.facts.map((fact) => [fact.generation, fact]));
  return {
    state: { generation, sha256, text: body.text, runs, missing: false, depth: body.depth, keptAt: body.depth, facts },
    milestone: body.milestone,
    whole: body.whole,
  };
}

/** The facts of both, of the values that `runs` still hold. */
export function factsOf(
  runs: readonly Run[],
  ...from: readonly ReadonlyMap<number, OriginFact>[]
): ReadonlyMap<number, OriginFact> {
  if (from.every((facts) => facts.size === 0)) return NO_FACTS;
  const found = new Map<number, OriginFact>();
  for (const { value } of runs) {
    const fact = from.map((facts) => facts.get(value)).find((one) => one !== undefined);
    if (fact !== undefined) found.set(value, fact);
  }
  return found;
}

/** The same lines with nothing known of them. */
export function forgotten(runs: readonly Run[]): Run[] {
  return revalue(runs, () => UNKNOWN);
}
