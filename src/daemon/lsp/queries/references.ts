import { hasAbility } from "./abilities.ts";
import { askCovered } from "./cover.ts";
import { handlerOf } from "./ground.ts";
import { locationsOf, namedIn } from "./locations.ts";
import { type Ability, type Ground, placeParams } from "./types.ts";

export const REFERENCES = { capability: "referencesProvider", method: "textDocument/references" } as const satisfies Ability;

/** Has the server know every file that uses the symbol at the place, under whatever name: before what must see them all. */
export async function coverUses(ground: Ground): Promise<void> {
  if (ground.leased.spec.projects === undefined || !hasAbility(ground.run, REFERENCES)) return;
  const params = { ...placeParams(ground), context: { includeDeclaration: true } };
  await askCovered(ground, async () => namedIn(ground, await ground.request(REFERENCES.method, params)));
}

/** Where something is used, in the order of paths and places. */
export const references = handlerOf({
  about: "place",
  ability: REFERENCES,
  indexing: "refused",
  across: true,
  async find(ground) {
    const context = { includeDeclaration: ground.question.includeDeclaration ?? true };
    const params = { ...placeParams(ground), context };
    const named = await askCovered(ground, async () => namedIn(ground, await ground.request(REFERENCES.method, params)));
    return { kind: "locations", locations: await locationsOf(ground, named, true) };
  },
});
