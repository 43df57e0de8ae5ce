/** A checkpoint as the graph draws it. */
export interface Node {
  readonly id: string;
  readonly parents: readonly string[];
  /** What it took back. */
  readonly undoes: readonly string[];
}

/** The strokes of the graph; the plain ones are for whatever is no terminal. */
export interface Strokes {
  readonly node: string;
  readonly line: string;
  /** Where checkpoints between two shown ones are left out. */
  readonly gap: string;
  /** From an undo sideways, down, onto what it took back, and the last of that. */
  readonly out: string;
  readonly down: string;
  readonly into: string;
  readonly last: string;
  readonly side: string;
}

/** For terminals. */
export const LINES: Strokes = { node: "●", line: "│", gap: "┊", out: "╮", down: "│", into: "┤", last: "╯", side: "─" };

/** For everything else. */
export const PLAIN: Strokes = { node: "*", line: "|", gap: ":", out: ".", down: "|", into: "+", last: "'", side: "-" };

/** One row of the drawing: what stands before a checkpoint, or between two. */
export interface GraphRow {
  readonly text: string;
  /** Index of its node; undefined for a row between two. */
  readonly node: number | undefined;
}

/** An undo and where it still points on the page: it holds a column from its own row to its last target's. */
interface Arc {
  readonly from: number;
  readonly targets: readonly number[];
  readonly column: number;
}

/**
 * Draws checkpoints, newest first, as a line with their parents below them; an undo or redo is tied to what it took back by a stroke in a
 * column beside the line. Only what is on the page is tied.
 */
export function drawGraph(nodes: readonly Node[], strokes: Strokes): GraphRow[] {
  const arcs = arcsOf(nodes);
  const columns = Math.max(0, ...arcs.map((arc) => arc.column + 1));
  return nodes.flatMap((node, index) => {
    const row: GraphRow = { text: rowText(index, arcs, columns, strokes), node: index };
    const below = nodes[index + 1];
    if (below === undefined || node.parents.includes(below.id)) return [row];
    return [row, { text: gapText(index, arcs, columns, strokes), node: undefined }];
  });
}

function arcsOf(nodes: readonly Node[]): Arc[] {
  const at = new Map(nodes.map(({ id }, index) => [id, index]));
  const arcs: Arc[] = [];
  for (const [from, { undoes }] of nodes.entries()) {
    const targets = undoes.map((id) => at.get(id)).filter((index) => index !== undefined && index > from) as number[];
    if (targets.length === 0) continue;
    const taken = new Set(arcs.filter((arc) => endOf(arc) >= from).map((arc) => arc.column));
    let column = 0;
    while (taken.has(column)) column += 1;
    arcs.push({ from, targets, column });
  }
  return arcs;
}

const endOf = ({ targets }: Arc): number => Math.max(...targets);

/** Two characters a column: one that a sideways stroke may cross, and the column's own. */
function rowText(index: number, arcs: readonly Arc[], columns: number, strokes: Strokes): string {
  const here = arcs.filter((arc) => arc.from === index || arc.targets.includes(index));
  const reach = Math.max(-1, ...here.map((arc) => arc.column));
  let text = strokes.node;
  for (let column = 0; column < columns; column += 1) {
    text += column <= reach ? strokes.side : " ";
    const own = here.find((arc) => arc.column === column);
    const passing = arcs.some((arc) => arc.column === column && arc.from < index && endOf(arc) > index);
    if (own !== undefined) text += own.from === index ? strokes.out : endOf(own) === index ? strokes.last : strokes.into;
    else if (passing) text += strokes.down;
    else text += column < reach ? strokes.side : " ";
  }
  return text;
}

function gapText(index: number, arcs: readonly Arc[], columns: number, strokes: Strokes): string {
  let text = strokes.gap;
  for (let column = 0; column < columns; column += 1) {
    const passing = arcs.some((arc) => arc.column === column && arc.from <= index && endOf(arc) > index);
    text += ` ${passing ? strokes.down : " "}`;
  }
  return text;
}
