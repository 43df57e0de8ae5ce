import { classEnd } from "./glob-braces.ts";

/** Whether one name of a path matches one segment of a pattern. */
export type SegmentGlob = (name: string) => boolean;

/** What one place takes: a text of its own, any number of characters, or one character. */
type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "star" }
  | { readonly kind: "one"; readonly takes: (code: number) => boolean };

/** Makes one segment ready. Several stars in a row are one. */
export function compileSegment(pattern: string): SegmentGlob {
  const tokens = tokensOf(pattern);
  const [first, second] = tokens;
  if (first === undefined) return (name) => name === "";
  if (tokens.length === 1 && first.kind === "star") return () => true;
  if (tokens.length === 1 && first.kind === "text") return (name) => name === first.text;
  if (tokens.length === 2 && first.kind === "star" && second?.kind === "text") return (name) => name.endsWith(second.text);
  return (name) => matchTokens(tokens, name);
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  const text = (more: string) => {
    const last = tokens.at(-1);
    if (last?.kind === "text") tokens[tokens.length - 1] = { kind: "text", text: last.text + more };
    else tokens.push({ kind: "text", text: more });
  };
  for (let at = 0; at < pattern.length; at++) {
    const unit = pattern[at] ?? "";
    const end = unit === "[" ? classEnd(pattern, at) : undefined;
    if (unit === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" });
    } else if (unit === "?") tokens.push({ kind: "one", takes: () => true });
    else if (end !== undefined) {
      tokens.push({ kind: "one", takes: compileClass(pattern.slice(at + 1, end)) });
      at = end;
    } else if (unit === "\\" && at + 1 < pattern.length) text(pattern[++at] ?? "");
    else text(unit);
  }
  return tokens;
}

/** What a bracket expression takes, from its inside. A range that runs backwards takes nothing. */
function compileClass(inside: string): (code: number) => boolean {
  const negated = inside.startsWith("!") || inside.startsWith("^");
  const codes: { readonly code: number; readonly escaped: boolean }[] = [];
  let escaped = false;
  for (const character of negated ? inside.slice(1) : inside) {
    if (character === "\\" && !escaped) {
      escaped = true;
      continue;
    }
    codes.push({ code: character.codePointAt(0) ?? 0, escaped });
    escaped = false;
  }
  const ranges: [number, number][] = [];
  for (let at = 0; at < codes.length; at++) {
    const { code = 0 } = codes[at] ?? {};
    const dash = codes[at + 1];
    const until = codes[at + 2];
    if (dash?.code === 0x2d && !dash.escaped && until !== undefined) {
      ranges.push([code, until.code]);
      at += 2;
    } else ranges.push([code, code]);
  }
  return (code) => ranges.some(([from, until]) => code >= from && code <= until) !== negated;
}

/** Going back to the last star is enough: what an earlier one could take, a later one can. */
function matchTokens(tokens: readonly Token[], name: string): boolean {
  let token = 0;
  let at = 0;
  let star: { token: number; at: number } | undefined;
  for (;;) {
    const want = tokens[token];
    if (want?.kind === "star") {
      star = { token: ++token, at };
      if (token === tokens.length) return true;
      continue;
    }
    const taken = want === undefined ? undefined : takenBy(want, name, at);
    if (want === undefined && at === name.length) return true;
    if (taken !== undefined) {
      at += taken;
      token++;
      continue;
    }
    if (star === undefined || star.at >= name.length) return false;
    star.at += (name.codePointAt(star.at) ?? 0) > 0xffff ? 2 : 1;
    at = star.at;
    token = star.token;
  }
}

/** Units the token takes there; undefined when it does not match. */
function takenBy(want: Token, name: string, at: number): number | undefined {
  if (want.kind === "text") return name.startsWith(want.text, at) ? want.text.length : undefined;
  const code = name.codePointAt(at);
  if (code === undefined || want.kind === "star" || !want.takes(code)) return undefined;
  return code > 0xffff ? 2 : 1;
}
