import { isObject, type JsonObject, type JsonValue } from "../sdk/index.ts";

/** Longest value that is shown whole, in characters, and most objects of a list. */
const CHARACTERS = 100;
const OBJECTS = 10;

/**
 * An answer's facts in a few words: a list of words is one pair, each object of a list a pair of its own. Whole contents and hunks are for
 * `--json`. Nothing in it is safe for a terminal yet.
 */
export function factPairs(facts: JsonObject): [name: string, value: string][] {
  return Object.entries(facts).flatMap(([name, value]) => inWords(value).map((text): [string, string] => [name, text]));
}

function inWords(value: JsonValue): string[] {
  if (!Array.isArray(value)) return [word(value)];
  if (value.every((item) => !isObject(item))) return [value.map(word).join(", ")];
  const shown = value.slice(0, OBJECTS).map(word);
  return value.length > OBJECTS ? [...shown, `${value.length - OBJECTS} more (--json shows all)`] : shown;
}

function word(value: JsonValue): string {
  if (isObject(value)) return objectInWords(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > CHARACTERS ? `${text.slice(0, CHARACTERS)}…` : text;
}

function objectInWords(value: JsonObject): string {
  const bulky = /(text|hunks|content|data)$/;
  return Object.entries(value)
    .filter(([name, item]) => !bulky.test(name) && !isObject(item) && !Array.isArray(item) && item !== "")
    .map(([name, item]) => `${name}=${word(item)}`)
    .join(" ");
}
