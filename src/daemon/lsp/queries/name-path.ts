/** A name path as callers give it: "method", "Class/method", "/Class/method" from the file's top, "Class/method[1]" the second of that name. */
export interface NamePath {
  readonly names: readonly string[];
  /** Nothing may stand above the first name. */
  readonly whole: boolean;
  /** From 0, of several that match; undefined is any. */
  readonly index: number | undefined;
}

/** What a name path says. An empty one has no names. */
export function namePathOf(symbol: string): NamePath {
  const indexed = /^(.*[^[\]])\[(\d{1,6})\]$/.exec(symbol);
  const text = indexed?.[1] ?? symbol;
  const names = text.split("/").filter((name) => name !== "");
  return { names, whole: text.startsWith("/"), index: indexed === null ? undefined : Number(indexed[2]) };
}

/** The names in what a server calls a symbol: Go's server says "(*Server).Close" of what is Server/Close. */
export function namesIn(name: string): readonly string[] {
  const method = /^\(\*?([^)[\]]+)(?:\[[^\]]*\])?\)\.(.+)$/.exec(name);
  return method?.[1] === undefined || method[2] === undefined ? [name] : [method[1], method[2]];
}

/** Whether a symbol's path is meant. A "/" within a name is no bound where the name as a whole is what was given. */
export function matches({ names, whole }: NamePath, path: readonly string[]): boolean {
  const last = path.at(-1);
  if (last === undefined || names.length === 0) return false;
  if (!whole && names.length > 1 && last === names.join("/")) return true;
  if (whole ? path.length !== names.length : path.length < names.length) return false;
  const tail = path.slice(path.length - names.length);
  return names.every((name, index) => sameName(name, tail[index] ?? ""));
}

/** Some servers add parameters ("area(int, int)") or quotes to a name. */
export function sameName(asked: string, name: string): boolean {
  return asked === name || asked === plainName(name);
}

/** A name without what some servers add to it. */
export function plainName(name: string): string {
  const bare = name.replace(/^(["'])(.*)\1$/, "$2");
  return /^([^(<]+)[(<].*$/.exec(bare)?.[1]?.trim() ?? bare;
}

/** Those of the names that look most like one that is not there, the nearest first. */
export function nearest(asked: string, names: Iterable<string>, most = 5): readonly string[] {
  const wanted = asked.toLowerCase();
  const ranked: { readonly name: string; readonly rank: number }[] = [];
  for (const name of new Set(names)) {
    const last = plainName(name.split("/").at(-1) ?? name).toLowerCase();
    const rank = rankOf(wanted, last);
    if (rank !== undefined) ranked.push({ name, rank });
  }
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ name }) => name);
}

function rankOf(wanted: string, name: string): number | undefined {
  if (name === wanted) return 0;
  const distance = Math.abs(name.length - wanted.length) > 2 ? 3 : editDistance(wanted, name);
  if (distance <= 2 && distance < wanted.length) return distance;
  if (wanted.length < 3 || name.length < 3) return undefined;
  return name.includes(wanted) || wanted.includes(name) ? 3 + Math.abs(name.length - wanted.length) : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
