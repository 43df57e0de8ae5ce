import { cutText } from "../../base/index.ts";
import type { Location, SymbolNode } from "../types.ts";
import { DOCUMENT_SYMBOL } from "./abilities.ts";
import { handlerOf } from "./ground.ts";
import { shown } from "./locations.ts";
import type { Outlined } from "./outline.ts";
import { nameOf, outlineOfDocument } from "./place.ts";
import { documentOf, type Ground } from "./types.ts";

/** Characters of a symbol's detail. */
const DETAIL_CHARACTERS = 200;

/** The outline of a document; what a server knows of one file it knows before it has seen the others. */
export const symbols = handlerOf({
  about: "document",
  ability: DOCUMENT_SYMBOL,
  indexing: "exact",
  across: false,
  async find(ground) {
    const tops = await outlineOfDocument(ground);
    const counted = { left: ground.most, total: 0 };
    return { kind: "symbols", symbols: { items: nodesOf(ground, tops, counted), total: counted.total } };
  },
});

/** Bounded in the file's order; all are counted. */
function nodesOf(ground: Ground, outline: readonly Outlined[], counted: { left: number; total: number }): SymbolNode[] {
  const nodes: SymbolNode[] = [];
  for (const symbol of outline) {
    counted.total += 1;
    const kept = counted.left > 0;
    counted.left -= 1;
    const children = nodesOf(ground, symbol.children, counted);
    if (kept) nodes.push(nodeOf(ground, symbol, children));
  }
  return nodes;
}

function nodeOf(ground: Ground, symbol: Outlined, children: readonly SymbolNode[]): SymbolNode {
  const { path, text } = documentOf(ground);
  const location: Location = { path, ...shown(text, symbol.range, ground), outside: false, view: "", sha256: text.sha256 };
  return {
    name: symbol.name,
    namePath: symbol.path.join("/"),
    kind: symbol.kind,
    detail: cutText(symbol.detail, DETAIL_CHARACTERS),
    location,
    selection: nameOf(symbol, text, ground),
    children,
  };
}
