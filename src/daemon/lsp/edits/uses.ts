import { askCovered } from "../queries/cover.ts";
import { type Named, namedIn } from "../queries/locations.ts";
import { REFERENCES } from "../queries/references.ts";
import { documentOf, type Ground, placeParams } from "../queries/types.ts";
import { isWhole } from "../queries/words.ts";
import type { EditedFile, Place, Span } from "../types.ts";

/** Places and files named for people. */
const MOST_NAMED = 5;

/** Every place of the symbol asked about, its declaration too, each once. Files that may hold it are made known to the server first. */
export async function usesOf(ground: Ground): Promise<readonly Named[]> {
  const params = { ...placeParams(ground), context: { includeDeclaration: true } };
  const found = await askCovered(ground, async () => namedIn(ground, await ground.request(REFERENCES.method, params)));
  return [...new Map(found.map((one) => [JSON.stringify([one.uri, one.range]), one])).values()];
}

/** A use that bears a name: where it is imported under another, it does not. */
export interface Bearing {
  readonly path: string;
  readonly span: Span;
}

/** What the server takes for the name at the place asked about: of some languages more than a word. Undefined when it is no use itself. */
export function nameAt(ground: Ground, uses: readonly Named[]): string | undefined {
  const { uri, text } = documentOf(ground);
  const { place } = ground;
  if (place === undefined) return undefined;
  for (const use of uses) {
    if (use.uri !== uri) continue;
    const span = text.span(use.range, ground.encoding);
    if (compare(span.start, place) > 0 || compare(place, span.end) > 0) continue;
    const name = named(text.line(span.start.line), span);
    if (name !== "") return name;
  }
  return undefined;
}

/** Uses in files of the workspace at which the name itself stands, each once though a link gives its file two names: so many are there under the new one when it was changed. */
export async function bearing(ground: Ground, uses: readonly Named[], name: string): Promise<readonly Bearing[]> {
  const found = await Promise.all(
    uses.map(async ({ uri, range }) => {
      const path = ground.mirror.pathOf(uri);
      const text = path === undefined ? undefined : await ground.text(path);
      if (path === undefined || text === undefined) return undefined;
      const span = text.span(range, ground.encoding);
      return named(text.line(span.start.line), span) === name ? { path, span } : undefined;
    }),
  );
  const known = found.filter((one) => one !== undefined);
  return [...new Map(known.map((one) => [JSON.stringify(one), one])).values()];
}

/**
 * Says of uses that an edit leaves as they are although the old name stands there: the edit is not whole then, unless it keeps the name as an alias ("export { newName as name }") under which
 * they go on. Gives how many do.
 */
export function checkWhole(ground: Ground, name: string, uses: readonly Bearing[], files: readonly EditedFile[]): number {
  const changed = new Map(files.map(({ path, changes }) => [path, changes]));
  const left = uses.filter(({ path, span }) => changed.get(path)?.some((change) => touches(change.span, span)) !== true);
  if (left.length === 0) return 0;
  const { id } = ground.leased.spec;
  const places = few(
    left.map(({ path, span }) => (ground.question.visible(path) ? `${path}:${span.start.line}` : "a file you may not see")),
  );
  const aliases = files.filter(({ changes }) => changes.some(({ newText }) => holds(newText, name)));
  if (aliases.length === 0) {
    ground.partial(`${id} leaves ${left.length} of ${uses.length} uses of ${name} as they are: ${places}`);
    return 0;
  }
  const where = few(aliases.map(({ path }) => path));
  ground.note(`${id} keeps the name ${name} for others in ${where}: ${left.length} uses go on under it: ${places}`);
  return left.length;
}

/** Whether a word stands in a text as a whole. */
export function holds(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) if (isWhole(text, at, name)) return true;
  return false;
}

/** The first of a list, for people. */
export function few(all: readonly string[]): string {
  return `${all.slice(0, MOST_NAMED).join(", ")}${all.length > MOST_NAMED ? " …" : ""}`;
}

function named(line: string, { start, end }: Span): string {
  return start.line === end.line ? [...line].slice(start.character - 1, end.character - 1).join("") : "";
}

function touches(a: Span, b: Span): boolean {
  return compare(a.start, b.end) <= 0 && compare(b.start, a.end) <= 0;
}

function compare(a: Place, b: Place): number {
  return a.line - b.line || a.character - b.character;
}
