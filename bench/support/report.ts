/** One figure of a bench: the ratio, what it should be, and whether it is. A goal of undefined is shown only. */
export interface Ratio {
  readonly value: number;
  /** As text, e.g. "<= 1.3" or ">= 10"; undefined where the figure is there to be seen. */
  readonly goal: string | undefined;
  readonly met: boolean | undefined;
}

/** "at most `most`" as a judged ratio. */
export function atMost(value: number, most: number): Ratio {
  return { value: round(value), goal: `<= ${most}`, met: value <= most };
}

/** "at least `least`" as a judged ratio. */
export function atLeast(value: number, least: number): Ratio {
  return { value: round(value), goal: `>= ${least}`, met: value >= least };
}

/** A ratio without a goal. */
export function shown(value: number): Ratio {
  return { value: round(value), goal: undefined, met: undefined };
}

/** Three digits are all a shared machine can tell. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** Prints the table for people, then the JSON line, which is the last. Absolute figures carry their unit in their name. */
export function report(
  bench: string,
  ratios: Readonly<Record<string, Ratio>>,
  absolute: Readonly<Record<string, number>>,
  n: number,
): void {
  const rows = Object.entries(ratios).map(([name, { value, goal, met }]) => [
    name,
    String(value),
    goal ?? "",
    met === undefined ? "" : met ? "met" : "MISSED",
  ]);
  const all = [
    ["ratio", "value", "goal", ""],
    ...rows,
    ["", "", "", ""],
    ["absolute", "", "", ""],
    ...Object.entries(absolute).map(([name, value]) => [name, String(round(value)), "", ""]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const row of all)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  const rounded = Object.fromEntries(Object.entries(absolute).map(([name, value]) => [name, round(value)]));
  console.log(JSON.stringify({ bench, ratios, absolute: rounded, n }));
}
