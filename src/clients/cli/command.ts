import type { ParseArgsConfig } from "node:util";
import type { Session, SessionOptions } from "../sdk/index.ts";
import type { Output } from "./output.ts";

/** Options of a command as `util.parseArgs` takes them. */
export type Flags = NonNullable<ParseArgsConfig["options"]>;

/** What a command works with. */
export interface Context {
  /** Flags given, by name. */
  readonly values: { readonly [name: string]: string | boolean | (string | boolean)[] | undefined };
  readonly positionals: readonly string[];
  /** The whole command line, without node and the script: for a command that follows it. */
  readonly argv: readonly string[];
  /** The conversation with the daemon; made at the first use, closed by main. */
  session(overrides?: Partial<SessionOptions>): Session;
  /** Session options as flags and variables gave them. */
  options(): SessionOptions;
  readonly out: Output;
  /** Standard error: notes, progress, hints. */
  readonly err: Output;
  /** True when `--json` was given. */
  readonly json: boolean;
  readonly env: { readonly [name: string]: string | undefined };
  /** Standard input as bytes, to its end; with `most`, reading stops as soon as there are more, and all that was read is given. */
  stdin(most?: number): Promise<Buffer>;
  /** Whether standard input is a terminal. */
  typed(): boolean;
}

/** One command: its file exports it as `command`. */
export interface Command {
  /** After "gin ", as help shows it. */
  readonly usage: string;
  /** Flags of its own; session flags and `--json` are added unless `bare`. */
  readonly flags?: Flags;
  /** Lines for help: [flag, meaning]. */
  readonly help?: readonly (readonly [flag: string, meaning: string])[];
  /** How many words it takes after its name: [fewest, most]; default none. */
  readonly words?: readonly [fewest: number, most: number];
  /** True: takes no session flags and no `--json`. */
  readonly bare?: boolean;
  /** True: reads no flags at all; every argument is among the positionals as it was given. */
  readonly raw?: boolean;
  /** Does it; gives the exit status when that is not 0. */
  run(context: Context): Promise<number | undefined>;
}

/** A flag's text, or undefined. */
export function flag(context: Context, name: string): string | undefined {
  const value = context.values[name];
  return typeof value === "string" ? value : undefined;
}

/** The texts of a flag that may be repeated. */
export function flags(context: Context, name: string): string[] {
  const value = context.values[name];
  return Array.isArray(value) ? value.map(String) : typeof value === "string" ? [value] : [];
}

/** `{name: value}` when the value is there: for building messages without empty fields. */
export function given<V>(name: string, value: V | undefined): { [name: string]: V } {
  return value === undefined ? {} : { [name]: value };
}
