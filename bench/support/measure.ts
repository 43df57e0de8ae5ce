/** Sorted milliseconds of many runs. */
export class Times {
  readonly sorted: readonly number[];

  constructor(milliseconds: readonly number[]) {
    this.sorted = [...milliseconds].sort((one, other) => one - other);
  }

  get p50(): number {
    return this.at(0.5);
  }

  at(share: number): number {
    return this.sorted[Math.min(this.sorted.length - 1, Math.floor(this.sorted.length * share))] ?? Number.NaN;
  }
}

/** A case of a comparison: called once a run, measured from call to resolution. */
export type Case = (run: number) => unknown;

/**
 * Times several cases side by side: in rounds, a slice of each case a round, so that what the machine does meanwhile hits all of
 * them alike. `warm` calls of each come first and are not counted.
 */
export async function sideBySide<K extends string>(
  cases: Readonly<Record<K, Case>>,
  options: { readonly runs: number; readonly warm: number; readonly rounds?: number },
): Promise<Record<K, Times>> {
  const { runs, warm, rounds = 10 } = options;
  const names = Object.keys(cases) as K[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<K, number[]>;
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>;
  for (const name of names) for (let index = 0; index < warm; index++) await cases[name](counts[name]++);
  const slice = Math.ceil(runs / rounds);
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      for (let index = 0; index < slice; index++) {
        const run = counts[name]++;
        const from = performance.now();
        await cases[name](run);
        times[name].push(performance.now() - from);
      }
    }
  }
  return Object.fromEntries(names.map((name) => [name, new Times(times[name])])) as Record<K, Times>;
}

/** Calls a second over `clients` closed loops of `calls` each. */
export async function throughput(
  clients: number,
  calls: number,
  one: (client: number, call: number) => Promise<unknown>,
): Promise<number> {
  const from = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let call = 0; call < calls; call++) await one(client, call);
    }),
  );
  return (clients * calls * 1000) / (performance.now() - from);
}
