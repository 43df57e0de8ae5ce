import type { JsonObject } from "../sdk/index.ts";
import { brief, type Output, object, type Style, short, text } from "./output.ts";
import { pad, showLine, width } from "./terminal.ts";

/** Characters of a checkpoint's id that are shown: enough to be found again by. */
const ID = 11;

/** Styles by turns: each principal has one of its own as long as they last. What nobody is known for is dim. */
const STYLES: readonly Style[] = ["cyan", "yellow", "green", "magenta", "blue", "red"];

/** Who and when, of one origin, as cells. */
export interface Attribution {
  readonly checkpoint: string;
  readonly principal: string;
  readonly time: string;
}

/** What an `Origin` message says, ready for a terminal. */
export function attributionOf(origin: JsonObject): Attribution {
  if (origin.unknown === true) return { checkpoint: "?", principal: "unknown", time: "" };
  const principal = text(origin, "principal");
  const cause = short(text(origin, "cause"), "CAUSE_");
  // What came in from outside gin has nobody's name.
  const nobody = cause === "external" ? "(outside)" : `(${cause})`;
  return {
    checkpoint: brief(text(origin, "checkpoint"), ID),
    principal: principal === "" ? nobody : showLine(principal),
    time: minute(text(origin, "time")),
  };
}

/** An RFC 3339 time to the minute. */
export function minute(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}

/** Lays attributions out in columns, and tells principals apart by colour. */
export class Attributions {
  readonly #out: Output;
  readonly #styles = new Map<string, Style>();
  readonly #widths: readonly [checkpoint: number, principal: number, time: number];

  /** `all` is everything that will be shown: columns are as wide as the widest. */
  constructor(out: Output, all: readonly Attribution[]) {
    this.#out = out;
    const widest = (cell: (one: Attribution) => string): number => all.reduce((most, one) => Math.max(most, width(cell(one))), 0);
    this.#widths = [widest((one) => one.checkpoint), widest((one) => one.principal), widest((one) => one.time)];
    for (const { principal } of all) {
      if (nobody(principal) || this.#styles.has(principal)) continue;
      this.#styles.set(principal, STYLES[this.#styles.size % STYLES.length] ?? "cyan");
    }
  }

  /** The three columns of one attribution. */
  columns({ checkpoint, principal, time }: Attribution): string {
    const [first, second, third] = this.#widths;
    const who = `${pad(checkpoint, first)}  ${pad(principal, second)}`;
    return `${this.#out.style(this.#styles.get(principal) ?? "dim", who)}  ${this.#out.style("dim", pad(time, third))}`;
  }
}

/** The origin of a span or entry. */
export function originOf(message: JsonObject): JsonObject {
  return object(message, "origin");
}

function nobody(principal: string): boolean {
  return principal === "unknown" || principal.startsWith("(");
}
