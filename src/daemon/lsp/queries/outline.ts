import type { Range } from "vscode-languageserver-protocol";
import { symbolKind } from "./kinds.ts";
import { namesIn } from "./name-path.ts";
import { comparePositions, holds, isObject, objectsOf, type Raw, rangeOf, textOf } from "./raw.ts";

/** A symbol of a document, in a server's positions. */
export interface Outlined {
  /** As the server says it. */
  readonly name: string;
  /** From the file's top, one name each. */
  readonly path: readonly string[];
  readonly kind: string;
  readonly detail: string;
  readonly range: Range;
  /** Of its name; undefined where the server tells only of the whole. */
  readonly selection: Range | undefined;
  readonly children: Outlined[];
}

/** The tree of an answer to textDocument/documentSymbol, of both forms, in the file's order. Malformed symbols are left out. */
export function outlineOf(answer: unknown): readonly Outlined[] {
  const all = objectsOf(answer);
  const flat = all.some((one) => isObject(one["location"]));
  return flat ? nested(all) : all.flatMap((one) => hierarchical(one, [])).sort(inOrder);
}

/** All symbols of a tree, each before its children. */
export function* flattened(outline: readonly Outlined[]): Iterable<Outlined> {
  for (const symbol of outline) {
    yield symbol;
    yield* flattened(symbol.children);
  }
}

function hierarchical(raw: Raw, above: readonly string[]): Outlined[] {
  const range = rangeOf(raw["range"]);
  const name = textOf(raw["name"]);
  if (range === undefined || name === "") return [];
  const path = [...above, ...namesIn(name)];
  const children = objectsOf(raw["children"]).flatMap((child) => hierarchical(child, path));
  const selection = rangeOf(raw["selectionRange"]) ?? range;
  return [
    {
      name,
      path,
      kind: symbolKind(raw["kind"]),
      detail: textOf(raw["detail"]),
      range,
      selection,
      children: children.sort(inOrder),
    },
  ];
}

/** SymbolInformation knows ranges and containers' names: what lies within another is its child, else what names it as its container. */
function nested(all: readonly Raw[]): readonly Outlined[] {
  const known = all.flatMap((raw) => {
    const range = isObject(raw["location"]) ? rangeOf(raw["location"]["range"]) : undefined;
    const name = textOf(raw["name"]);
    return range === undefined || name === "" ? [] : [{ raw, name, range }];
  });
  known.sort((a, b) => comparePositions(a.range.start, b.range.start) || comparePositions(b.range.end, a.range.end));
  const top: Outlined[] = [];
  const before: Outlined[] = [];
  for (const { raw, name, range } of known) {
    const container = textOf(raw["containerName"]);
    const around = before.findLast((other) => holds(other.range, range) && !same(other.range, range));
    const parent = around ?? (container === "" ? undefined : before.findLast((other) => other.name === container));
    const path = [...(parent?.path ?? []), ...namesIn(name)];
    const symbol = { name, path, kind: symbolKind(raw["kind"]), detail: "", range, selection: undefined, children: [] };
    (parent?.children ?? top).push(symbol);
    before.push(symbol);
  }
  return top;
}

function same(a: Range, b: Range): boolean {
  return comparePositions(a.start, b.start) === 0 && comparePositions(a.end, b.end) === 0;
}

function inOrder(a: Outlined, b: Outlined): number {
  return comparePositions(a.range.start, b.range.start);
}
