// Matching of one pattern as Git's wildmatch does. Texts are strings of bytes (latin1), because `?` is one byte to Git.

const SLASH = 0x2f;
const STAR = 0x2a;
const BACKSLASH = 0x5c;

/** What one place of a pattern takes. "star": bytes but no slash; "all": any bytes; "dirs": nothing, or anything that ends in a slash. */
type Token =
  | { readonly kind: "byte"; readonly byte: number }
  | { readonly kind: "class"; readonly table: Uint8Array }
  | { readonly kind: "star" | "all" | "dirs" };

/** A pattern made ready. */
export type Glob = readonly Token[];

/** Any byte but a slash. */
const ANY = new Uint8Array(256).fill(1);
ANY[SLASH] = 0;

/**
 * Makes a pattern ready; undefined for one that can match nothing (a class without end, a backslash at the end).
 * `fold`: upper-case ASCII letters of the text were made lower-case.
 */
export function compile(pattern: string, fold: boolean): Glob | undefined {
  const tokens: Token[] = [];
  // Git takes the text before the first special byte away and matches the rest alone, so `**` behind it counts as at the start.
  const plain = pattern.search(/[*?[\\]/);
  let at = 0;
  while (at < pattern.length) {
    const byte = pattern.charCodeAt(at);
    if (byte === STAR) {
      let end = at + 1;
      while (pattern.charCodeAt(end) === STAR) end++;
      const open = at === plain || pattern.charCodeAt(at - 1) === SLASH;
      const whole = end - at > 1 && open;
      if (whole && pattern.charCodeAt(end) === SLASH) {
        tokens.push({ kind: "dirs" });
        end++;
      } else if (whole && (end === pattern.length || pattern.startsWith("\\/", end))) tokens.push({ kind: "all" });
      else tokens.push({ kind: "star" });
      at = end;
    } else if (byte === BACKSLASH) {
      if (at + 1 === pattern.length) return undefined;
      tokens.push({ kind: "byte", byte: lower(pattern.charCodeAt(at + 1), fold) });
      at += 2;
    } else if (pattern[at] === "?") {
      tokens.push({ kind: "class", table: ANY });
      at++;
    } else if (pattern[at] === "[") {
      const set = compileClass(pattern, at + 1, fold);
      if (set === undefined) return undefined;
      tokens.push({ kind: "class", table: set.table });
      at = set.end;
    } else {
      tokens.push({ kind: "byte", byte: lower(byte, fold) });
      at++;
    }
  }
  return tokens;
}

const lower = (byte: number, fold: boolean): number => (fold && byte >= 65 && byte <= 90 ? byte + 32 : byte);

/**
 * Whether a whole text matches. Two places to go back to are enough, the last star and the last token that may pass slashes: what an earlier one
 * could take, a later one can. So it takes at most a number of steps in the product of the lengths, whatever a hostile .gitignore says; a
 * backtracking regular expression takes minutes for six stars.
 */
export function matches(glob: Glob, text: string): boolean {
  let token = 0;
  let at = 0;
  let star: { token: number; at: number } | undefined;
  let wide: { token: number; at: number; dirs: boolean } | undefined;
  for (;;) {
    const want = glob[token];
    if (want === undefined) {
      if (at === text.length) return true;
    } else if (want.kind === "star") {
      star = { token: ++token, at };
      continue;
    } else if (want.kind === "all" || want.kind === "dirs") {
      wide = { token: ++token, at, dirs: want.kind === "dirs" };
      star = undefined;
      continue;
    } else if (at < text.length && takes(want, text.charCodeAt(at))) {
      token++;
      at++;
      continue;
    }
    if (star !== undefined && star.at < text.length && text.charCodeAt(star.at) !== SLASH) {
      at = ++star.at;
      token = star.token;
      continue;
    }
    if (wide === undefined) return false;
    const next = wide.dirs ? text.indexOf("/", wide.at) + 1 : wide.at + 1;
    if (next === 0 || next > text.length) return false;
    wide.at = next;
    at = next;
    token = wide.token;
    star = undefined;
  }
}

function takes(want: Token, byte: number): boolean {
  return want.kind === "byte" ? want.byte === byte : want.kind === "class" && want.table[byte] === 1;
}

const between = (from: number, to: number) => (byte: number) => byte >= from && byte <= to;
const digit = between(48, 57);
const small = between(97, 122);
const capital = between(65, 90);
const letter = (byte: number) => small(byte) || capital(byte);
const graph = between(33, 126);

/** The named classes, in ASCII as Git has them. */
const NAMED: Readonly<Record<string, (byte: number) => boolean>> = {
  alnum: (byte) => letter(byte) || digit(byte),
  alpha: letter,
  blank: (byte) => byte === 32 || byte === 9,
  cntrl: (byte) => byte < 32 || byte === 127,
  digit,
  graph,
  lower: small,
  print: between(32, 126),
  punct: (byte) => graph(byte) && !letter(byte) && !digit(byte),
  space: (byte) => byte === 32 || between(9, 13)(byte),
  upper: capital,
  xdigit: (byte) => digit(byte) || between(97, 102)(byte) || between(65, 70)(byte),
};

/** A bracket expression from behind its `[`; undefined when it has no end or names an unknown class. */
function compileClass(pattern: string, start: number, fold: boolean): { table: Uint8Array; end: number } | undefined {
  const table = new Uint8Array(256);
  let at = start;
  const negated = pattern[at] === "!" || pattern[at] === "^";
  if (negated) at++;
  const first = at;
  /** The byte a range may start from; undefined behind a range or a named class. */
  let before: number | undefined;
  for (; at === first || pattern[at] !== "]"; at++) {
    if (at >= pattern.length) return undefined;
    if (pattern[at] === "-" && before !== undefined && at + 1 < pattern.length && pattern[at + 1] !== "]") {
      if (pattern[++at] === "\\") at++;
      if (at >= pattern.length) return undefined;
      for (let byte = before; byte <= pattern.charCodeAt(at); byte++) table[byte] = 1;
      before = undefined;
      continue;
    }
    if (pattern[at] === "[" && pattern[at + 1] === ":") {
      const close = pattern.indexOf("]", at + 2);
      if (close < 0) return undefined;
      if (close > at + 2 && pattern[close - 1] === ":") {
        const named = NAMED[pattern.slice(at + 2, close - 1)];
        if (named === undefined) return undefined;
        for (let byte = 0; byte < 256; byte++) if (named(byte)) table[byte] = 1;
        before = undefined;
        at = close;
        continue;
      }
    } else if (pattern[at] === "\\" && ++at >= pattern.length) return undefined;
    before = pattern.charCodeAt(at);
    table[before] = 1;
  }
  if (fold) for (let byte = 65; byte <= 90; byte++) if (table[byte] === 1) table[byte + 32] = 1;
  if (negated) for (let byte = 0; byte < 256; byte++) table[byte] = table[byte] === 1 ? 0 : 1;
  table[SLASH] = 0;
  return { table, end: at + 1 };
}
