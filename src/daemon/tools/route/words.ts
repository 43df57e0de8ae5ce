/** Words that say nothing about which tool is meant. */
const STOP: ReadonlySet<string> = new Set([
  "the",
  "an",
  "of",
  "to",
  "in",
  "on",
  "for",
  "and",
  "or",
  "with",
  "is",
  "it",
  "this",
  "that",
  "me",
  "my",
]);

/** The words of a text, each once: lower case, letters and digits, `_` splits, from two characters on, in the singular. */
export function wordsOf(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of text.toLowerCase().matchAll(/[a-z0-9]+/g)) {
    if (word.length >= 2 && !STOP.has(word)) words.add(singular(word));
  }
  return words;
}

/** A word without its plural, naively: what matters is that both sides lose the same. */
export function singular(word: string): string {
  if (word.length <= 3 || !word.endsWith("s") || /(ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return /(ch|sh|x|ss)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1);
}
