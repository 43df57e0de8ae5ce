import { GinError, type Pace } from "../../base/index.ts";
import { blockEnd, hasBraces } from "./block-end.ts";
import type { LineSpan, TextLines } from "./text-lines.ts";

/** Lines shown at most. */
const WINDOW_LINES = 2_000;
/** Bytes shown at most, line numbers included. */
const WINDOW_BYTES = 50 * 1024;
/** Lines shown at each end of a text whose middle is left out. */
const MIDDLE_LINES = 500;

/** Which part of a long window is shown. */
export type Truncate = "head" | "tail" | "middle" | "none" | "smart";

/** Where a page goes on: a line, and an offset within the text for one that is shown in pieces. */
export interface Place {
  readonly line: number;
  readonly offset: number;
  /** Last line asked for. */
  readonly last: number;
}

/** What is asked for. 0 and undefined: not given. */
export interface WindowAsk {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly tail: number;
  readonly numbers: boolean;
  readonly truncate: Truncate | undefined;
  /** Continues an earlier page: the lines asked for are those of that page. */
  readonly place: Place | undefined;
}

/** What is shown of a text. */
export interface Window {
  readonly text: string;
  readonly first: number;
  readonly last: number;
  readonly outputLines: number;
  /** Whether something that was asked for is not shown. */
  readonly truncated: boolean;
  /** Where the rest begins, when what is shown is what was asked for up to a place. */
  readonly next: Place | undefined;
  /** Whether a line is shown in part. */
  readonly cut: boolean;
}

interface Shown {
  readonly spans: readonly LineSpan[];
  readonly next?: Place;
  readonly cut: boolean;
}

/** Picks and renders the lines. Throws INVALID_REQUEST for a start behind the end of the text. */
export async function windowOf(lines: TextLines, ask: WindowAsk, pace: Pace): Promise<Window> {
  const { first, last, bounded } = rangeOf(lines, ask);
  const strategy = strategyOf(ask);
  const budget = new Budget(lines, ask.numbers, last);
  const from = ask.place?.offset ?? (await lines.offsetOf(first, pace));
  if (strategy === "tail" || strategy === "middle") {
    const end = await lines.offsetOf(last + 1, pace);
    if (strategy === "tail") {
      const shown = budget.backward(last, end, first, WINDOW_LINES, WINDOW_BYTES);
      const missing = shown.cut || (shown.spans[0]?.line ?? first) > first;
      return rendered(lines, ask, shown.spans, { truncated: missing, cut: shown.cut });
    }
    const whole = budget.forward(first, from, last, WINDOW_LINES, WINDOW_BYTES);
    if (whole.next === undefined) return rendered(lines, ask, whole.spans, { truncated: false, cut: false });
    const head = budget.forward(first, from, last, MIDDLE_LINES, WINDOW_BYTES / 2);
    const after = (head.spans.at(-1)?.line ?? first) + 1;
    const foot = budget.backward(last, end, after, MIDDLE_LINES, WINDOW_BYTES / 2);
    const spans = [...head.spans, ...foot.spans];
    return rendered(lines, ask, spans, { truncated: true, cut: head.cut || foot.cut, gapAt: head.spans.length });
  }
  const mostLines = strategy === "none" && bounded ? Number.POSITIVE_INFINITY : WINDOW_LINES;
  const shown = budget.forward(first, from, last, mostLines, WINDOW_BYTES);
  const kept = strategy === "smart" && shown.next !== undefined && !shown.cut ? atBlock(lines, shown, last) : shown;
  const { next, cut } = kept;
  return rendered(lines, ask, kept.spans, { truncated: next !== undefined, cut, next });
}

/** The lines asked for, and whether their end was named. */
function rangeOf(lines: TextLines, ask: WindowAsk): { first: number; last: number; bounded: boolean } {
  const { count } = lines;
  if (ask.place !== undefined) return { first: ask.place.line, last: Math.min(ask.place.last, count), bounded: true };
  if (ask.tail > 0) return { first: Math.max(1, count - ask.tail + 1), last: count, bounded: true };
  const first = Math.max(1, ask.start);
  if (first > Math.max(1, count)) {
    throw new GinError("INVALID_REQUEST", `args/start_line: ${first} is past the end; the file has ${count} lines`, undefined, {
      facts: { field: "args/start_line", limit: count },
    });
  }
  const named = ask.end >= first;
  return { first, last: named ? Math.min(ask.end, count) : count, bounded: named };
}

function strategyOf(ask: WindowAsk): Truncate {
  const { truncate = "head" } = ask;
  if (ask.place !== undefined) return truncate === "tail" || truncate === "middle" ? "head" : truncate;
  if (ask.tail > 0) return truncate === "middle" ? "middle" : "tail";
  // The default window of a start that was named: the lines from there on.
  if (ask.start > 0 && ask.end < ask.start && (truncate === "tail" || truncate === "middle")) return "head";
  return truncate === "smart" && !hasBraces(ask.path) ? "head" : truncate;
}

/** Without the lines of a block that is not shown whole. */
function atBlock(lines: TextLines, shown: Shown, last: number): Shown {
  const kept = blockEnd(lines, shown.spans);
  const rest = shown.spans[kept];
  return rest === undefined
    ? shown
    : { spans: shown.spans.slice(0, kept), next: { line: rest.line, offset: rest.start, last }, cut: false };
}

/** Takes lines while they fit, and a part of one that alone does not. */
class Budget {
  readonly #lines: TextLines;
  /** Bytes a line costs beside its text. */
  readonly #extra: number;
  readonly #numbers: boolean;

  constructor(lines: TextLines, numbers: boolean, last: number) {
    this.#lines = lines;
    this.#numbers = numbers;
    this.#extra = numbers ? String(last).length + 2 : 0;
  }

  forward(line: number, offset: number, last: number, mostLines: number, mostBytes: number): Shown {
    const spans: LineSpan[] = [];
    let used = 0;
    for (const span of this.#lines.forward(line, offset, last)) {
      const cost = this.#costOf(span);
      if (spans.length < mostLines && used + cost <= mostBytes) {
        spans.push(span);
        used += cost;
        continue;
      }
      if (spans.length > 0) return { spans, next: { line: span.line, offset: span.start, last }, cut: false };
      const cut = this.#lines.cutBefore(span.start + mostBytes - this.#extra, span.start);
      return { spans: [{ ...span, end: cut }], next: { line: span.line, offset: cut, last }, cut: true };
    }
    return { spans, cut: false };
  }

  backward(line: number, offset: number, first: number, mostLines: number, mostBytes: number): Shown {
    const spans: LineSpan[] = [];
    let used = 0;
    for (const span of this.#lines.backward(line, offset, first)) {
      const cost = this.#costOf(span);
      if (spans.length === mostLines) break;
      if (used + cost > mostBytes) {
        if (spans.length > 0) break;
        const cut = this.#lines.cutAfter(span.end - mostBytes + this.#extra);
        return { spans: [{ ...span, start: cut }], cut: true };
      }
      spans.push(span);
      used += cost;
    }
    return { spans: spans.reverse(), cut: false };
  }

  #costOf(span: LineSpan): number {
    return this.#numbers ? this.#lines.textEnd(span) - span.start + this.#extra : span.end - span.start;
  }
}

interface How {
  readonly truncated: boolean;
  readonly cut: boolean;
  readonly next?: Place | undefined;
  /** Index of the line before which some are left out. */
  readonly gapAt?: number;
}

function rendered(lines: TextLines, ask: WindowAsk, spans: readonly LineSpan[], how: How): Window {
  const first = spans[0]?.line ?? 0;
  const last = spans.at(-1)?.line ?? 0;
  const { gapAt = -1 } = how;
  const before = spans[gapAt - 1]?.line ?? 0;
  const gap = gapAt > 0 && gapAt < spans.length ? (spans[gapAt]?.line ?? 0) - before - 1 : 0;
  const text = ask.numbers ? numbered(lines, spans, last, gapAt, gap) : plain(lines, spans, gapAt, gap);
  const { truncated, cut, next } = how;
  return { text, first, last, outputLines: spans.length, truncated, next, cut };
}

const gapLine = (lines: number): string => `[... ${lines} lines left out ...]`;

function numbered(lines: TextLines, spans: readonly LineSpan[], last: number, gapAt: number, gap: number): string {
  const width = String(last).length;
  const shown = spans.map((span) => {
    const text = lines.bytes.toString("utf8", span.start, lines.textEnd(span));
    return `${String(span.line).padStart(width)}\t${text}`;
  });
  if (gap > 0) shown.splice(gapAt, 0, gapLine(gap));
  return shown.join("\n");
}

function plain(lines: TextLines, spans: readonly LineSpan[], gapAt: number, gap: number): string {
  const piece = (from: LineSpan | undefined, to: LineSpan | undefined): string =>
    from === undefined || to === undefined ? "" : lines.bytes.toString("utf8", from.start, to.end);
  if (gapAt < 0) return piece(spans[0], spans.at(-1));
  const head = piece(spans[0], spans[gapAt - 1]);
  const end = head === "" || head.endsWith("\n") ? "" : "\n";
  return `${head}${end}${gap > 0 ? `${gapLine(gap)}\n` : ""}${piece(spans[gapAt], spans.at(-1))}`;
}
