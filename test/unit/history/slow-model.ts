import { diffLines, isText, lineMap, splitLines } from "../../../src/daemon/history/index.ts";

/** What a checkpoint made of a file: null where it was gone. One character a byte. */
export interface Entry {
  readonly generation: number;
  readonly content: string | null;
  /** Generations it took back, newest first, when it was an undo or redo. */
  readonly undoes: readonly number[];
}

/** A value a line; one for a content that is no text; undefined where nothing is. */
export type Values = readonly number[] | undefined;

/** Marks a line that came in, while it is not known from where. */
const CAME = Number.NaN;

/** Bytes of a text of one character a byte. */
export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

/**
 * The rules, slowly: replays a file's whole history from its first entry, carrying a value along with every line. `entries` are
 * those of one file through all its names. `own` is the value of what an entry brings itself; `follow` limits what an undo may
 * bring back to values that are not there already.
 */
export function replay(entries: readonly Entry[], first: Values, own: (generation: number) => number, once: boolean): Values[] {
  const states: Values[] = [];
  let previous: { content: string | null; values: Values } = { content: null, values: undefined };
  for (const [index, entry] of entries.entries()) {
    const values = index === 0 && first !== undefined ? first : step(entries, states, previous, entry, own, once);
    states.push(values);
    previous = { content: entry.content, values };
  }
  return states;
}

function step(
  entries: readonly Entry[],
  states: readonly Values[],
  previous: { readonly content: string | null; readonly values: Values },
  entry: Entry,
  own: (generation: number) => number,
  once: boolean,
): Values {
  const { content, generation, undoes } = entry;
  if (content === null) return undefined;
  if (content === previous.content) return previous.values;
  const found = undoes
    .map((taken) => entries.findIndex((one) => one.generation === taken))
    .filter((at) => at > 0)
    .map((at) => ({ content: entries[at - 1]?.content ?? null, values: states[at - 1] }));
  if (!isText(bytesOf(content))) {
    const whole = found.find((one) => one.content === content && one.values !== undefined);
    return whole?.values ?? [own(generation)];
  }
  const count = splitLines(bytesOf(content)).count;
  const values = previousOf(previous, content, count);
  const taken = new Set(undoes.map(own));
  const bring = (accept: (value: number) => boolean): void => {
    for (const { content: old, values: then } of found) {
      if (old === null || then === undefined || !isText(bytesOf(old))) continue;
      const map = lineMap(diffLines(bytesOf(old), bytesOf(content)));
      const there = new Set(values);
      for (let line = 0; line < count; line += 1) {
        const before = map.before(line);
        const value = before === undefined ? undefined : then[before];
        if (value === undefined || !Number.isNaN(values[line]) || !accept(value)) continue;
        if (once && (value < 0 || there.has(value))) continue;
        values[line] = value;
      }
    }
  };
  bring((value) => once || !taken.has(value));
  bring(() => true);
  return values.map((value) => (Number.isNaN(value) ? own(generation) : value));
}

function previousOf(
  previous: { readonly content: string | null; readonly values: Values },
  content: string,
  count: number,
): number[] {
  const { content: old, values } = previous;
  if (old === null || values === undefined || !isText(bytesOf(old))) return Array.from({ length: count }, () => CAME);
  const map = lineMap(diffLines(bytesOf(old), bytesOf(content)));
  return Array.from({ length: count }, (_, line) => {
    const before = map.before(line);
    return before === undefined ? CAME : (values[before] ?? CAME);
  });
}
