import { handlerOf } from "./ground.ts";
import { locationsOf, namedIn } from "./locations.ts";
import { type Ability, placeParams } from "./types.ts";

export const REFERENCES = { capability: "referencesProvider", method: "textDocument/references" } as const satisfies Ability;

/** Where something is used, in the order of paths and places. */
export const references = handlerOf({
  about: "place",
  ability: REFERENCES,
  indexing: "refused",
  across: true,
  async find(ground) {
    const context = { includeDeclaration: ground.question.includeDeclaration ?? true };
    const answer = await ground.request(REFERENCES.method, { ...placeParams(ground), context });
    return { kind: "locations", locations: await locationsOf(ground, namedIn(ground, answer), true) };
  },
});
