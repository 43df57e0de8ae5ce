import type { JsonObject } from "../sdk/index.ts";
import { pad, showLine, showText, width } from "./terminal.ts";

/** Where a stream of this process leads. */
export interface Sink {
  write(data: string | Uint8Array): unknown;
  readonly isTTY?: boolean | undefined;
}

/** Styles that human output uses. */
export type Style = "bold" | "dim" | "green" | "yellow" | "red" | "cyan" | "magenta" | "blue";

const CODES: { readonly [style in Style]: readonly [on: number, off: number] } = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  yellow: [33, 39],
  red: [31, 39],
  cyan: [36, 39],
  magenta: [35, 39],
  blue: [34, 39],
};

/**
 * Standard output of a command. What others wrote reaches a terminal only through `showText` and `showLine`; styles are added after that, and
 * only on a terminal without NO_COLOR.
 */
export class Output {
  readonly #open: () => Sink;
  readonly #env: { readonly [name: string]: string | undefined };

  /** `open` gives the stream; called at each use, never before. */
  constructor(open: () => Sink, env: { readonly [name: string]: string | undefined }) {
    this.#open = open;
    this.#env = env;
  }

  get terminal(): boolean {
    return this.#open().isTTY === true;
  }

  /** One line of ours; anything foreign in it went through `showLine` before. */
  line(text = ""): void {
    this.#open().write(`${text}\n`);
  }

  /** Content as it is; on a terminal with what could steer it escaped. */
  content(bytes: Uint8Array | string): void {
    if (!this.terminal) this.#open().write(bytes);
    else this.#open().write(showText(typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes)));
  }

  /** A response message on one line, for programs. JSON escapes C0 itself; the rest is escaped on a terminal. */
  json(message: unknown): void {
    this.line(this.terminal ? jsonForTerminal(message) : JSON.stringify(message));
  }

  /** Text in a style, where styles are shown. */
  style(style: Style, text: string): string {
    const [on, off] = CODES[style];
    const colour = this.terminal && (this.#env.NO_COLOR ?? "") === "" && this.#env.TERM !== "dumb";
    return colour ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  }

  /** Rows in aligned columns, two blanks apart; the head is dim. Cells are foreign text and are made safe here. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): void {
    const cells = rows.map((row) => row.map(showLine));
    const widths = head.map((title, at) => Math.max(title.length, ...cells.map((row) => width(row[at] ?? ""))));
    const layout = (row: readonly string[]): string =>
      row
        .map((cell, at) => (at === row.length - 1 ? cell : pad(cell, widths[at] ?? 0)))
        .join("  ")
        .trimEnd();
    this.line(this.style("dim", layout(head)));
    for (const row of cells) this.line(layout(row));
  }

  /** "name  value" lines with aligned values; empty values are left out. Values are made safe here. */
  facts(pairs: readonly (readonly [name: string, value: string])[]): void {
    const shown = pairs.filter(([, value]) => value !== "");
    const widest = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, value] of shown) this.line(`${this.style("dim", name.padEnd(widest))}  ${showLine(value)}`);
  }
}

function jsonForTerminal(message: unknown): string {
  const unsafe = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  return JSON.stringify(message).replace(unsafe, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A field as text: "" when it is not there. */
export function text(message: JsonObject, field: string): string {
  const value = message[field];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** A field as a list of objects: empty when it is not there. */
export function list(message: JsonObject, field: string): JsonObject[] {
  const value = message[field];
  return Array.isArray(value)
    ? value.filter((item): item is JsonObject => typeof item === "object" && item !== null && !Array.isArray(item))
    : [];
}

/** A field as a list of texts: empty when it is not there. */
export function texts(message: JsonObject, field: string): string[] {
  const value = message[field];
  return Array.isArray(value) ? value.map(String) : [];
}

/** A field as an object: empty when it is not there. */
export function object(message: JsonObject, field: string): JsonObject {
  const value = message[field];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** An enum value in its short form: "CAUSE_SAVE" → "save". */
export function short(value: string, prefix: string): string {
  return value.startsWith(prefix) ? value.slice(prefix.length).toLowerCase() : value.toLowerCase();
}

/** Bytes for a person: "812 B", "4.0 KiB". */
export function bytes(count: string): string {
  let value = Number(count);
  if (!Number.isFinite(value) || count === "") return count;
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = "";
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value.toFixed(1)} ${unit}`;
}

/** Milliseconds for a person: "450 ms", "12 s", "3 m 20 s", "2 h 5 m", "4 d 3 h". */
export function duration(ms: string): string {
  const value = Number(ms);
  if (!Number.isFinite(value) || ms === "") return ms;
  if (value < 1000) return `${Math.round(value)} ms`;
  const seconds = Math.round(value / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} m`;
  return minutes > 0 ? `${minutes} m ${seconds % 60} s` : `${seconds} s`;
}

/** A hash or id cut to what a person compares by. */
export function brief(id: string, characters = 12): string {
  return id.length > characters ? id.slice(0, characters) : id;
}
