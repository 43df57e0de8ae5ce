import type { Location, LspAnswer, LspAsk, SymbolNode } from "../types.ts";
import { WORKSPACE_SYMBOL } from "./abilities.ts";
import { cover } from "./cover.ts";
import { symbolKind } from "./kinds.ts";
import { compareLocations, listed, locationOf } from "./locations.ts";
import { namesIn, plainName } from "./name-path.ts";
import { isObject, objectsOf, type Raw, rangeOf, textOf } from "./raw.ts";
import { askSeveral } from "./several.ts";
import type { Ground, Handler, Needs } from "./types.ts";

/** Items kept, of all servers. */
const MOST_ITEMS = 10_000;

const NEEDS: Needs = { about: "server", ability: WORKSPACE_SYMBOL, indexing: "partial", across: true };

/** Symbols of the whole workspace by a part of their name, from every server that runs: the exact name first, then those that begin with it. */
export const workspaceSymbols: Handler = async (room, question, deadline) => {
  const query = question.query ?? "";
  const { answers, missing } = await askSeveral(room, question, deadline, NEEDS, (ground) => symbolsOf(ground, query));
  // Two servers for one language say the same.
  const once = new Map(answers.flatMap(({ value }) => value).map((one) => [JSON.stringify([one.namePath, one.location]), one]));
  const all = [...once.values()];
  const wanted = query.toLowerCase();
  all.sort((a, b) => rank(a, wanted) - rank(b, wanted) || compareNames(a, b) || compareLocations(a.location, b.location));
  return {
    ...factsOf(question, answers, missing),
    found: { kind: "symbols", symbols: listed({ most: MOST_ITEMS }, all) },
  };
};

/** The symbols of one server whose names hold a text. `words` are those that a file with such a symbol holds whole; undefined where that is not known. */
export async function symbolsOf(ground: Ground, query: string, words?: readonly string[]): Promise<readonly SymbolNode[]> {
  await cover(ground, words);
  const answer = await ground.request(WORKSPACE_SYMBOL.method, { query });
  const found = await Promise.all((Array.isArray(answer) ? objectsOf(answer) : []).map((raw) => symbolOf(ground, raw)));
  const once = new Map<string, SymbolNode>();
  for (const one of found) if (one !== undefined) once.set(JSON.stringify([one.namePath, one.kind, one.location]), one);
  return [...once.values()];
}

async function symbolOf(ground: Ground, raw: Raw): Promise<SymbolNode | undefined> {
  const at = isObject(raw["location"]) ? raw["location"] : {};
  const range = rangeOf(at["range"]);
  const name = textOf(raw["name"]);
  const uri = textOf(at["uri"]);
  if (range === undefined || name === "" || uri === "") {
    ground.partial("malformed symbols of the server are left out");
    return undefined;
  }
  const location: Location | undefined = await locationOf(ground, { uri, range });
  if (location === undefined) return undefined;
  const container = textOf(raw["containerName"]);
  const names = [...(container === "" ? [] : [container]), ...namesIn(name)];
  return {
    name,
    namePath: names.join("/"),
    kind: symbolKind(raw["kind"]),
    detail: container,
    location,
    selection: location.span,
    children: [],
  };
}

function rank({ name }: SymbolNode, wanted: string): number {
  const plain = plainName(namesIn(name).at(-1) ?? name).toLowerCase();
  return plain === wanted ? 0 : plain.startsWith(wanted) ? 1 : 2;
}

function compareNames(a: SymbolNode, b: SymbolNode): number {
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}

/** What is said of an answer of several servers: partial when one of them is, or one is missing. */
function factsOf(
  question: LspAsk,
  answers: readonly { readonly facts: Omit<LspAnswer, "found"> }[],
  missing: string,
): Omit<LspAnswer, "found"> {
  const facts = answers.map((one) => one.facts);
  const [only] = facts;
  const alone = facts.length === 1 ? only : undefined;
  return {
    server: alone?.server ?? question.server ?? facts.map((one) => one.server).join(", "),
    serverVersion: alone?.serverVersion ?? "",
    state: facts.some(({ state }) => state === "indexing") ? "indexing" : "ready",
    sha256: "",
    generation: Math.min(...facts.map(({ generation }) => generation)),
    partial: missing !== "" || facts.some(({ partial }) => partial),
    note: [...new Set([...facts.map(({ note }) => note), missing])].filter((one) => one !== "").join("; "),
  };
}
