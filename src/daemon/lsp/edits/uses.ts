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

/** Says of uses that an edit leaves as they are although the old name stands there: the edit is not whole then. */
export async function checkWhole(
  ground: Ground,
  name: string,
  uses: readonly Named[],
  files: readonly EditedFile[],
): Promise<void> {
  const changed = new Map(files.map(({ path, changes }) => [path, changes]));
  const missing: string[] = [];
  for (const { uri, range } of uses) {
    const path = ground.mirror.pathOf(uri);
    const text = path === undefined ? undefined : await ground.text(path);
    if (path === undefined || text === undefined) continue;
    const span = text.span(range, ground.encoding);
    // An alias keeps its name.
    if (named(text.line(span.start.line), span) !== name) continue;
    if (changed.get(path)?.some((change) => touches(change.span, span)) === true) continue;
    missing.push(ground.question.visible(path) ? `${path}:${span.start.line}` : "a file you may not see");
  }
  if (missing.length === 0) return;
  const more = missing.length > MOST_NAMED ? " …" : "";
  ground.partial(
    `${ground.leased.spec.id} leaves ${missing.length} of ${uses.length} uses of ${name} as they are: ${missing.slice(0, MOST_NAMED).join(", ")}${more}`,
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
