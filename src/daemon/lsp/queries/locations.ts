import type { Range } from "vscode-languageserver-protocol";
import { cutText, GinError } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import { fileUri } from "../mirror/uri.ts";
import type { Listed, Location, Place, Span } from "../types.ts";
import { fileOf, nameOf } from "./outside.ts";
import { objectsOf, type Raw, rangeOf } from "./raw.ts";
import type { Ground } from "./types.ts";

/** Characters of an excerpt. */
const EXCERPT_CHARACTERS = 200;

/** A place in a file as a server names it. */
export interface Named {
  readonly uri: string;
  readonly range: Range;
}

/** The locations in an answer of any form: Location, Location[], LocationLink[] (the name's own range), null. What is malformed is left out, and said to be. */
export function namedIn(ground: Ground, answer: unknown): readonly Named[] {
  const all = objectsOf(answer);
  const named = all.flatMap((raw) => namedBy(raw) ?? []);
  if (named.length < all.length) ground.partial(`${all.length - named.length} malformed locations of the server are left out`);
  return named;
}

function namedBy(raw: Raw): Named | undefined {
  const uri = raw["targetUri"] ?? raw["uri"];
  const range = rangeOf(raw["targetSelectionRange"]) ?? rangeOf(raw["targetRange"]) ?? rangeOf(raw["range"]);
  return typeof uri === "string" && range !== undefined ? { uri, range } : undefined;
}

/** As a list for callers: each place once, bounded. `inOrder` sorts by path and place; else the server's own order says what it finds best. */
export async function locationsOf(ground: Ground, named: readonly Named[], inOrder: boolean): Promise<Listed<Location>> {
  // In one go, so that no directory is walked to twice.
  ground.question.workspace.scope(() => {
    for (const { uri } of named) {
      const path = ground.mirror.pathOf(uri);
      if (path !== undefined) isProtected(ground, path);
    }
  });
  const found = (await Promise.all(named.map((one) => locationOf(ground, one)))).filter((one) => one !== undefined);
  const byPlace = new Map<string, Location>();
  for (const one of found) {
    const key = `${one.outside} ${one.view} ${one.path} ${placeKey(one.span.start)} ${placeKey(one.span.end)}`;
    if (!byPlace.has(key)) byPlace.set(key, one);
  }
  const locations = [...byPlace.values()];
  if (inOrder) locations.sort(compareLocations);
  return listed(ground, locations);
}

/** The first of a list that are kept, and how many there are. */
export function listed<T>({ most }: Pick<Ground, "most">, all: readonly T[]): Listed<T> {
  return { items: all.length <= most ? all : all.slice(0, most), total: all.length };
}

/** One location; undefined for one that the caller may not see, which is noted. */
export async function locationOf(ground: Ground, named: Named): Promise<Location | undefined> {
  const path = ground.mirror.pathOf(named.uri) ?? insideBy(ground, named.uri);
  if (path === undefined) return outsideOf(ground, named);
  if (!maySee(ground, path)) return undefined;
  const text = await ground.text(path);
  const { span, excerpt } = shown(text, named.range, ground);
  return { path, span, outside: false, view: "", sha256: text?.sha256 ?? "", excerpt };
}

/** Whether a path may be shown to the caller; what may not is noted. */
export function maySee(ground: Ground, path: string): boolean {
  if (isProtected(ground, path)) {
    ground.note("locations in protected files are left out");
    return false;
  }
  if (ground.question.visible(path)) return true;
  ground.partial("locations in files that you may not see are left out");
  return false;
}

/** The span in our terms and the line's beginning. Without a text each unit of the server is taken for a character. */
export function shown(
  text: Text | undefined,
  range: Range,
  { encoding }: Pick<Ground, "encoding">,
): Pick<Location, "span" | "excerpt"> {
  if (text === undefined) return { span: { start: bare(range.start), end: bare(range.end) }, excerpt: "" };
  const span = text.span(range, encoding);
  return { span, excerpt: cutText(text.line(span.start.line), EXCERPT_CHARACTERS) };
}

/** By path, then place. */
export function compareLocations(a: Location, b: Location): number {
  if (a.outside !== b.outside) return a.outside ? 1 : -1;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return comparePlaces(a.span.start, b.span.start) || comparePlaces(a.span.end, b.span.end);
}

function comparePlaces(a: Place, b: Place): number {
  return a.line - b.line || a.character - b.character;
}

/** An empty span at a text's beginning. */
export const BEGINNING: Span = { start: { line: 1, character: 1 }, end: { line: 1, character: 1 } };

/** The path of a file of the workspace that a server names by a link from elsewhere: it is seen by those who may see that path. */
function insideBy({ room, question }: Ground, uri: string): string | undefined {
  const file = fileOf(uri);
  return file === undefined ? undefined : room.outside.inside(file, question.workspace.root);
}

function outsideOf(ground: Ground, { uri, range }: Named): Location {
  const { room, leased, question } = ground;
  const file = fileOf(uri);
  const text = file === undefined ? undefined : room.outside.text(file, leased.spec, question.workspace.root);
  const name = file === undefined ? cutText(uri.replace(/^[^:]*:\/*/, ""), EXCERPT_CHARACTERS) : nameOf(file);
  const viewed = file === undefined || text === undefined ? undefined : { file, name, spec: leased.spec };
  const view = viewed === undefined ? "" : room.views.mint(question.workspace.rowid, viewed);
  return { path: name, ...shown(text, range, ground), outside: true, view, sha256: "" };
}

/** By the state asked about: a list names few files many times, and each look walks the path. */
const judged = new WeakMap<Ground["synced"], Map<string, boolean>>();

function isProtected({ question, synced }: Ground, path: string): boolean {
  const known = judged.get(synced) ?? new Map<string, boolean>();
  judged.set(synced, known);
  const before = known.get(path);
  if (before !== undefined) return before;
  const is = refusesPath(() => question.workspace.canonical(path));
  known.set(path, is);
  return is;
}

function refusesPath(look: () => string): boolean {
  try {
    look();
    return false;
  } catch (thrown) {
    if (thrown instanceof GinError) return true;
    throw thrown;
  }
}

function bare({ line, character }: Range["start"]): Place {
  return { line: line + 1, character: character + 1 };
}

function placeKey({ line, character }: Place): string {
  return `${line}:${character}`;
}

/** What a server says, without the absolute path of the workspace. */
export function said({ question }: Pick<Ground, "question">, text: string): string {
  return withoutRoot(question.workspace.root, text);
}

/** A text without the absolute path of a root, be it in a URI. */
export function withoutRoot(root: string, text: string): string {
  return text.replaceAll(`${fileUri(root)}/`, "").replaceAll(`${root}/`, "");
}
