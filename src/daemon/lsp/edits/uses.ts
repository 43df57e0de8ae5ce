import { askCovered } from "../queries/cover.ts";
import { type Named, namedIn } from "../queries/locations.ts";
import { REFERENCES } from "../queries/references.ts";
import { type Ground, placeParams } from "../queries/types.ts";
import type { EditedFile, Place, Span } from "../types.ts";

/** Uses named for people. */
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

/** Uses in files of the workspace at which the name itself stands: so many are there under the new one when it was changed. */
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
  return found.filter((one) => one !== undefined);
}

/** Says of uses that an edit leaves as they are although the old name stands there: the edit is not whole then. */
export function checkWhole(ground: Ground, name: string, uses: readonly Bearing[], files: readonly EditedFile[]): void {
  const changed = new Map(files.map(({ path, changes }) => [path, changes]));
  const missing = uses.filter(({ path, span }) => changed.get(path)?.some((change) => touches(change.span, span)) !== true);
  if (missing.length === 0) return;
  const places = missing.map(({ path, span }) =>
    ground.question.visible(path) ? `${path}:${span.start.line}` : "a file you may not see",
  );
  const more = missing.length > MOST_NAMED ? " …" : "";
  ground.partial(
    `${ground.leased.spec.id} leaves ${missing.length} of ${uses.length} uses of ${name} as they are: ${places.slice(0, MOST_NAMED).join(", ")}${more}`,
  );
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
