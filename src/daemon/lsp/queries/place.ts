import { GinError } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import type { Place } from "../types.ts";
import { DEFINITION, DOCUMENT_SYMBOL, hasAbility } from "./abilities.ts";
import { matches, namePathOf, nearest } from "./name-path.ts";
import { flattened, type Outlined, outlineOf } from "./outline.ts";
import { objectsOf, rangeOf } from "./raw.ts";
import { documentOf, type Ground } from "./types.ts";
import { wordAt, wordsOf } from "./words.ts";

/** Candidates that are looked at; more are ambiguous at once. */
const MOST_CANDIDATES = 20;

/** A place that may be meant. */
interface Candidate {
  readonly place: Place;
  /** For people, with what to ask instead. */
  readonly label: string;
}

/**
 * The place a question is about: line and character; a line and the whole word on it; or a name path in the document's outline. Of several words or symbols that are
 * one and the same by the server's own definitions the first is taken. Throws INVALID_REQUEST, SYMBOL_NOT_FOUND, SYMBOL_AMBIGUOUS.
 */
export async function placeOf(ground: Ground): Promise<Place> {
  const { line, character, symbol } = ground.question;
  const { text, path } = documentOf(ground);
  if (line !== undefined && character !== undefined) {
    const place = { line, character };
    text.toServer(place, ground.encoding);
    return place;
  }
  if (symbol === undefined || symbol === "") {
    const field = line === undefined ? "line" : "character";
    throw new GinError("INVALID_REQUEST", "give a line and a character, a line and a symbol, or a symbol", undefined, {
      facts: { field },
    });
  }
  const candidates = line === undefined ? await named(ground, symbol) : onLine(text, line, symbol, path);
  return oneOf(ground, symbol, candidates);
}

function onLine(text: Text, line: number, symbol: string, path: string): readonly Candidate[] {
  text.toServer({ line, character: 1 }, "utf-16");
  const content = text.line(line);
  const word = namePathOf(symbol).names.at(-1) ?? "";
  const found = [symbol, word].map((one) => wordAt(content, one)).find((places) => places.length > 0);
  if (found === undefined) {
    throw notFound(symbol, `line ${line} of ${path} does not hold ${symbol} as a whole word`, nearest(word, wordsOf(content)));
  }
  return found.map((character) => ({ place: { line, character }, label: `line ${line}, character ${character}` }));
}

async function named(ground: Ground, symbol: string): Promise<readonly Candidate[]> {
  const { path } = documentOf(ground);
  const outline = await outlineOfDocument(ground);
  const wanted = namePathOf(symbol);
  const all = [...flattened(outline)];
  const found = all.filter((one) => matches(wanted, one.path));
  if (found.length === 0) {
    const near = nearest(
      wanted.names.at(-1) ?? "",
      all.map((one) => one.path.join("/")),
    );
    throw notFound(symbol, `${path} has no symbol ${symbol}`, near);
  }
  const candidates = indexed(ground, found);
  if (wanted.index === undefined) return candidates;
  const one = candidates[wanted.index];
  if (one === undefined)
    throw notFound(
      symbol,
      `${path} has ${found.length} symbols of that name`,
      candidates.map(({ label }) => label),
    );
  return [one];
}

/** Labelled by their name paths; those that share one by their number as well. */
function indexed(ground: Ground, found: readonly Outlined[]): readonly Candidate[] {
  const { text } = documentOf(ground);
  const counts = new Map<string, number>();
  for (const { path } of found) counts.set(path.join("/"), (counts.get(path.join("/")) ?? 0) + 1);
  const seen = new Map<string, number>();
  return found.map((one) => {
    const path = one.path.join("/");
    const number = seen.get(path) ?? 0;
    seen.set(path, number + 1);
    const place = nameOf(one, text, ground).start;
    return { place, label: `/${path}${(counts.get(path) ?? 0) > 1 ? `[${number}]` : ""} (line ${place.line})` };
  });
}

/** The span of a symbol's own name: where a server tells only of the whole, the first whole word of it. */
export function nameOf({ selection, range, path }: Outlined, text: Text, { encoding }: Pick<Ground, "encoding">) {
  if (selection !== undefined) return text.span(selection, encoding);
  const whole = text.span(range, encoding);
  const name = path.at(-1) ?? "";
  for (let line = whole.start.line; line <= whole.end.line; line++) {
    const from = line === whole.start.line ? whole.start.character : 1;
    const character = wordAt(text.line(line), name).find((at) => at >= from);
    if (character !== undefined) {
      return { start: { line, character }, end: { line, character: character + [...name].length } };
    }
  }
  return { start: whole.start, end: whole.start };
}

/** The symbols of the question's document. UNSUPPORTED where the server has none. */
export async function outlineOfDocument(ground: Ground): Promise<readonly Outlined[]> {
  if (!hasAbility(ground.run, DOCUMENT_SYMBOL)) {
    throw new GinError(
      "UNSUPPORTED",
      `${ground.leased.spec.id} does not list symbols: names cannot be looked up`,
      "give a line and a character",
      {
        facts: { requested: DOCUMENT_SYMBOL.method },
      },
    );
  }
  const { uri } = documentOf(ground);
  return outlineOf(await ground.request(DOCUMENT_SYMBOL.method, { textDocument: { uri } }));
}

async function oneOf(ground: Ground, symbol: string, candidates: readonly Candidate[]): Promise<Place> {
  const [first] = candidates;
  if (first !== undefined && candidates.length === 1) return first.place;
  const few = candidates.length <= MOST_CANDIDATES && hasAbility(ground.run, DEFINITION);
  const groups = few ? await grouped(ground, candidates) : candidates.map((one) => [one]);
  // Where none is anything to the server, none is better than another.
  const [only] = groups;
  if (first !== undefined && groups.length === 0) return first.place;
  if (groups.length === 1 && only?.[0] !== undefined) return only[0].place;
  const labels = groups.map(([one]) => one?.label ?? "").slice(0, MOST_CANDIDATES);
  throw new GinError(
    "SYMBOL_AMBIGUOUS",
    `${symbol} stands for ${groups.length} symbols: ${labels.slice(0, 5).join(", ")}`,
    undefined,
    {
      facts: { symbol, candidates: labels },
    },
  );
}

/** Candidates together that the server's definitions lead to one another or to a common place; those it knows nothing of are left out. */
async function grouped(ground: Ground, candidates: readonly Candidate[]): Promise<readonly (readonly Candidate[])[]> {
  const { uri, text } = documentOf(ground);
  const found = await Promise.all(
    candidates.map(async (candidate) => {
      const position = text.toServer(candidate.place, ground.encoding);
      const answer = await ground.request(DEFINITION.method, { textDocument: { uri }, position }).catch(noneAt);
      const targets = objectsOf(answer).flatMap((raw) => {
        const range = rangeOf(raw["targetSelectionRange"]) ?? rangeOf(raw["range"]);
        return range === undefined ? [] : [placeKey(raw["targetUri"] ?? raw["uri"], range.start)];
      });
      return { candidate, targets, keys: new Set([...targets, placeKey(uri, position)]) };
    }),
  );
  const groups: { readonly keys: Set<string>; readonly members: Candidate[] }[] = [];
  for (const { candidate, targets, keys } of found) {
    if (targets.length === 0) continue;
    const touched = groups.filter((group) => [...keys].some((key) => group.keys.has(key)));
    const merged = { keys: new Set(keys), members: touched.flatMap(({ members }) => members) };
    for (const group of touched) {
      for (const key of group.keys) merged.keys.add(key);
      groups.splice(groups.indexOf(group), 1);
    }
    merged.members.push(candidate);
    groups.push(merged);
  }
  return groups.map(({ members }) => members);
}

/** Some servers refuse to be asked about a word that is no name. */
function noneAt(thrown: unknown): null {
  if (thrown instanceof GinError && thrown.reason === "LSP_REFUSED") return null;
  throw thrown;
}

function placeKey(uri: unknown, { line, character }: { readonly line: number; readonly character: number }): string {
  return `${String(uri)} ${line}:${character}`;
}

/** SYMBOL_NOT_FOUND with what looks like it. */
export function notFound(symbol: string, message: string, near: readonly string[]): GinError {
  return new GinError("SYMBOL_NOT_FOUND", message, undefined, { facts: { symbol, near: [...near] } });
}
