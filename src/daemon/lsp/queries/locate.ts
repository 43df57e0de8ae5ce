import { GinError } from "../../base/index.ts";
import type { Deadline } from "../session/types.ts";
import { languageOf } from "../table/servers.ts";
import type { LspAsk } from "../types.ts";
import { DOCUMENT_SYMBOL, hasAbility, WORKSPACE_SYMBOL } from "./abilities.ts";
import { matches, namePathOf, namesIn, nearest, plainName, sameName } from "./name-path.ts";
import { flattened, outlineOf } from "./outline.ts";
import { notFound } from "./place.ts";
import { askSeveral } from "./several.ts";
import type { Ground, Needs, Room } from "./types.ts";
import { symbolsOf } from "./workspace-symbols.ts";

/** Files whose outline is asked for, of those that hold a symbol of the name. */
const MOST_FILES = 20;

const NEEDS: Needs = { about: "server", ability: WORKSPACE_SYMBOL, indexing: "partial", across: true };

/** A symbol of the workspace that a name path fits. */
interface Located {
  readonly path: string;
  /** Whole, from the file's top. */
  readonly namePath: string;
}

/**
 * The question about the one symbol of the workspace that a name path without a file stands for: with its file, and the whole name path in it. Throws SYMBOL_NOT_FOUND,
 * SYMBOL_AMBIGUOUS, and what asking the servers does.
 */
export async function located(room: Room, question: LspAsk, deadline: Deadline): Promise<LspAsk> {
  const symbol = question.symbol ?? "";
  const wanted = namePathOf(symbol);
  const last = wanted.names.at(-1);
  if (last === undefined)
    throw new GinError("INVALID_REQUEST", "the symbol has no name", undefined, { facts: { field: "symbol" } });
  const { answers, missing } = await askSeveral(
    room,
    question,
    deadline,
    NEEDS,
    async (ground) => {
      const named = await symbolsOf(ground, last, [last]);
      const exact = named.filter(({ name, location }) => !location.outside && sameName(last, namesIn(name).at(-1) ?? name));
      const holding = await filesHolding(
        ground,
        exact.map(({ location }) => location.path),
        wanted.names,
      );
      if (holding.length > MOST_FILES)
        throw ambiguous(
          symbol,
          holding.map((path) => `${symbol} in ${path}`),
        );
      const within = await Promise.all(holding.map((path) => locatedIn(ground, path, symbol)));
      return { found: within.flat(), near: named.map(({ name }) => plainName(name)) };
    },
    true,
  );
  const found = new Map<string, { readonly one: Located; readonly server: string }>();
  for (const { value, facts } of answers) {
    for (const one of value.found) found.set(`${one.path}\n${one.namePath}`, { one, server: facts.server });
  }
  const [first, ...more] = found.values();
  if (first === undefined) {
    const near = nearest(
      last,
      answers.flatMap(({ value }) => value.near),
    );
    const why = missing === "" ? "" : ` (${missing})`;
    throw notFound(symbol, `the workspace has no symbol ${symbol}${why}`, near);
  }
  if (more.length > 0) {
    throw ambiguous(
      symbol,
      [first, ...more].map(({ one }) => `/${one.namePath} in ${one.path}`),
    );
  }
  const index = wanted.index === undefined ? "" : `[${wanted.index}]`;
  question.authorise(first.one.path);
  return { ...question, path: first.one.path, symbol: `/${first.one.namePath}${index}`, server: first.server };
}

/** Those files, each once, whose text holds every name of the path. */
async function filesHolding(ground: Ground, paths: readonly string[], names: readonly string[]): Promise<readonly string[]> {
  const holding: string[] = [];
  for (const path of new Set(paths)) {
    const text = await ground.mirror.text(path);
    if (text !== undefined && names.every((name) => text.text.includes(name))) holding.push(path);
  }
  return holding;
}

/** The name paths of a file that fit. */
async function locatedIn(ground: Ground, path: string, symbol: string): Promise<readonly Located[]> {
  const { leased, mirror, deadline, run } = ground;
  if (languageOf(leased.spec, path) === undefined || !hasAbility(run, DOCUMENT_SYMBOL)) return [];
  const { uri } = await mirror.open(path, deadline);
  const outline = outlineOf(await ground.request(DOCUMENT_SYMBOL.method, { textDocument: { uri } }));
  const wanted = namePathOf(symbol);
  const fitting = [...flattened(outline)].filter((one) => matches(wanted, one.path)).map((one) => one.path.join("/"));
  return [...new Set(fitting)].map((namePath) => ({ path, namePath }));
}

function ambiguous(symbol: string, candidates: readonly string[]): GinError {
  const few = candidates.slice(0, 20);
  return new GinError(
    "SYMBOL_AMBIGUOUS",
    `${symbol} stands for ${candidates.length} symbols: ${few.slice(0, 5).join(", ")}`,
    undefined,
    {
      facts: { symbol, candidates: [...few] },
    },
  );
}
