/**
 * The patterns that braces stand for, in order; undefined when there would be more than `most`. Braces nest; `{}` and `{a}` without a comma, and
 * a brace without its partner, are themselves. Braces in a bracket expression or behind a backslash are none.
 */
export function expandBraces(pattern: string, most: number): string[] | undefined {
  const done: string[] = [];
  const open = [pattern];
  // `from` is where a pattern was looked at already: what is before it has no braces to expand any more.
  const from = [0];
  while (open.length > 0) {
    const text = open.pop() ?? "";
    const start = from.pop() ?? 0;
    const group = firstGroup(text, start);
    if (group === undefined) {
      done.push(text);
    } else {
      const head = text.slice(0, group.start);
      const tail = text.slice(group.end + 1);
      for (const choice of [...group.choices].reverse()) {
        open.push(head + choice + tail);
        from.push(group.start);
      }
    }
    if (done.length + open.length > most) return undefined;
  }
  return done;
}

interface Group {
  /** Of its braces. */
  readonly start: number;
  readonly end: number;
  readonly choices: readonly string[];
}

function firstGroup(text: string, from: number): Group | undefined {
  // One pass that keeps all open braces: looking for each one's partner by itself would be quadratic for `{{{{…`.
  const opened: { at: number; commas: number[] }[] = [];
  let found: { start: number; end: number; commas: number[] } | undefined;
  for (let at = from; at < text.length; at++) {
    const unit = text[at];
    if (unit === "\\") at++;
    else if (unit === "[") at = classEnd(text, at) ?? at;
    else if (unit === "{") opened.push({ at, commas: [] });
    else if (unit === ",") opened.at(-1)?.commas.push(at);
    else if (unit === "}") {
      const group = opened.pop();
      // Of groups within each other the outermost one counts, and it closes last.
      if (group !== undefined && group.commas.length > 0 && (found === undefined || group.at < found.start))
        found = { start: group.at, end: at, commas: group.commas };
      if (opened.length === 0 && found !== undefined) break;
    }
  }
  if (found === undefined) return undefined;
  const cuts = [found.start, ...found.commas, found.end];
  const choices = cuts.slice(1).map((cut, index) => text.slice((cuts[index] ?? 0) + 1, cut));
  return { start: found.start, end: found.end, choices };
}

/** Place of the `]` that ends the bracket expression at `start`; undefined when it has no end before the segment has. */
export function classEnd(text: string, start: number): number | undefined {
  let at = start + 1;
  if (text[at] === "!" || text[at] === "^") at++;
  const first = at;
  for (; at < text.length && text[at] !== "/"; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "]" && at > first) return at;
  }
  return undefined;
}
