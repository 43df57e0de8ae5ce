import type { Position, Range } from "vscode-languageserver-protocol";

/** A value of a server's answer, whatever it is. */
export type Raw = { readonly [name: string]: unknown };

/** Whether it has fields. */
export function isObject(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects of a list; none where it is no list. A lone object counts as a list of one. */
export function objectsOf(value: unknown): readonly Raw[] {
  if (isObject(value)) return [value];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A text; "" for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A range as the protocol has it; undefined for anything else. */
export function rangeOf(value: unknown): Range | undefined {
  if (!isObject(value)) return undefined;
  const start = positionOf(value["start"]);
  const end = positionOf(value["end"]);
  return start === undefined || end === undefined ? undefined : { start, end };
}

function positionOf(value: unknown): Position | undefined {
  if (!isObject(value)) return undefined;
  const { line, character } = value;
  return isCount(line) && isCount(character) ? { line, character } : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

/** Whether one position is before, at (0), or behind another. */
export function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

/** Whether a range holds another. */
export function holds(outer: Range, inner: Range): boolean {
  return comparePositions(outer.start, inner.start) <= 0 && comparePositions(outer.end, inner.end) >= 0;
}
