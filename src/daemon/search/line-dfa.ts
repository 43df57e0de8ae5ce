/** An instruction of a compiled RE2 program, as re2js has it. */
export interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(rune: number): boolean;
}

/** A compiled program. */
export interface Program {
  readonly start: number;
  readonly inst: readonly Instruction[];
}

/** Numbers of operations in re2js 2.10.0. */
const OP = { alt: 1, altMatch: 2, capture: 3, empty: 4, fail: 5, match: 6, nop: 7, rune: 8, rune1: 9, any: 10, anyNotNl: 11 };
const LF = 10;
/** Column of every character that is not ASCII. */
const WIDE = 128;
/** A row of the table, as a shift. */
const ROW = 8;
/** Most states kept at once: 2 MiB of table. */
const STATES = 2_048;
/** The table may be begun anew so often in one search; a pattern that needs more is not for this. */
const RENEWALS = 16;
const UNKNOWN = -1;
const MATCH = -2;
const OVER = -3;

/** What a scan found. */
export const NONE = -1;
/** The scan cannot go on: the pattern has too many states. */
export const GIVEN_UP = -2;

/**
 * Finds the lines that may match, a step a character, whatever the pattern: the subset construction over a RE2 program, made as it goes. It
 * never misses a line that matches. Conditions of no width (`^`, `\b`) are taken to hold, and characters that are not ASCII are told apart only
 * roughly, so a line it finds is to be looked at by re2js itself, unless `exact`.
 */
export class LineDfa {
  /** Whether a line of ASCII that it finds does match. */
  readonly exact: boolean;
  /** Whether every line may match: nothing to scan for. */
  readonly everyLine: boolean;
  readonly #inst: readonly Instruction[];
  readonly #first: readonly number[];
  #table = new Int32Array(0);
  /** Instructions of each state. */
  #sets: (readonly number[])[] = [];
  #ids = new Map<string, number>();
  #renewals = 0;
  /** Where the scan is, so that it can go on. */
  #state = 0;

  private constructor(program: Program, exact: boolean) {
    this.#inst = program.inst;
    this.exact = exact;
    const first = this.#closure([program.start]);
    this.everyLine = first === undefined;
    this.#first = first ?? [];
    this.#renew();
  }

  /** Undefined for a program with operations it does not know. */
  static of(program: Program): LineDfa | undefined {
    if (!Array.isArray(program.inst) || program.inst.some((one) => one.op < OP.alt || one.op > OP.anyNotNl)) return undefined;
    return new LineDfa(
      program,
      program.inst.every((one) => one.op !== OP.empty),
    );
  }

  /** Begins at the start of a line. */
  restart(): void {
    this.#state = 0;
  }

  /** Goes on from unit `from` up to `to`: the unit that makes its line one that may match, NONE, or GIVEN_UP. */
  scan(text: string, from: number, to: number): number {
    let table = this.#table;
    let row = this.#state << ROW;
    for (let at = from; at < to; at++) {
      // Always within the table: a row is as long as the largest column.
      let next = table[row | Math.min(text.charCodeAt(at), WIDE)] as number;
      if (next < 0) {
        if (next === UNKNOWN) {
          next = this.#step(row >> ROW, Math.min(text.charCodeAt(at), WIDE));
          table = this.#table;
        }
        if (next === OVER) return GIVEN_UP;
        if (next === MATCH) {
          this.#state = 0;
          return at;
        }
      }
      row = next << ROW;
    }
    this.#state = row >> ROW;
    return NONE;
  }

  /** Where a state goes; OVER when there are too many. */
  #step(state: number, column: number): number {
    const set = this.#sets[state] ?? [];
    const outs: number[] = [];
    for (const index of set) {
      const instruction = this.#inst[index];
      if (instruction === undefined) continue;
      if (column !== WIDE) {
        if (takes(instruction, column)) outs.push(instruction.out);
      } else if (mayTakeWide(instruction)) {
        // Itself as well: the character may be a pair of units.
        outs.push(instruction.out, index);
      }
    }
    const next = this.#closure(outs);
    let known: number = MATCH;
    if (next !== undefined) {
      const all = [...new Set([...this.#first, ...next])].sort((one, other) => one - other);
      const key = all.join();
      const found = this.#ids.get(key);
      if (found === undefined && this.#sets.length >= STATES) {
        if (++this.#renewals > RENEWALS) return OVER;
        this.#renew();
        return this.#add(key, all);
      }
      known = found ?? this.#add(key, all);
    }
    this.#table[(state << ROW) | column] = known;
    return known;
  }

  #renew(): void {
    this.#table = new Int32Array(0);
    this.#sets = [];
    this.#ids = new Map();
    this.#add(this.#first.join(), this.#first);
  }

  #add(key: string, set: readonly number[]): number {
    const id = this.#sets.length;
    const rows = this.#table.length >> ROW;
    if (id >= rows) {
      const grown = new Int32Array(Math.max(16, rows * 2) << ROW).fill(UNKNOWN);
      grown.set(this.#table);
      this.#table = grown;
    }
    this.#sets.push(set);
    this.#ids.set(key, id);
    // A line's end begins the next line.
    this.#table[(id << ROW) | LF] = 0;
    return id;
  }

  /** The instructions that take a character, reached from some; undefined when a match is reached. */
  #closure(from: readonly number[]): number[] | undefined {
    const seen = new Set<number>();
    const open = [...from];
    const found: number[] = [];
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (seen.has(index)) continue;
      seen.add(index);
      const instruction = this.#inst[index];
      if (instruction === undefined || instruction.op === OP.fail) continue;
      const { op, out, arg } = instruction;
      if (op === OP.match) return undefined;
      if (op === OP.alt || op === OP.altMatch) open.push(out, arg);
      else if (op === OP.capture || op === OP.empty || op === OP.nop) open.push(out);
      else found.push(index);
    }
    return found;
  }
}

function takes(instruction: Instruction, rune: number): boolean {
  return instruction.op === OP.any || instruction.op === OP.anyNotNl || instruction.matchRune(rune);
}

function mayTakeWide(instruction: Instruction): boolean {
  if (instruction.op === OP.any || instruction.op === OP.anyNotNl) return true;
  // With folding even an ASCII letter may take one that is not: the Kelvin sign is a k.
  const folds = (instruction.arg & 1) !== 0;
  for (let at = 0; at < instruction.runes.length; at++) if (folds || (instruction.runes[at] ?? 0) >= WIDE) return true;
  return false;
}
