import { DEFINITION } from "./abilities.ts";
import { askCovered } from "./cover.ts";
import { handlerOf } from "./ground.ts";
import { locationsOf, namedIn } from "./locations.ts";
import { type Ability, type Handler, placeParams } from "./types.ts";

/** Where something is defined; in the server's own order. Some of a server that is still indexing are better than none. */
export const definition = lookup(DEFINITION, "partial");

/** Where the type of something is defined. */
export const typeDefinition = lookup({ capability: "typeDefinitionProvider", method: "textDocument/typeDefinition" }, "partial");

/** What implements something: all of it, so the whole workspace must be known. */
export const implementation = lookup({ capability: "implementationProvider", method: "textDocument/implementation" }, "refused");

function lookup(ability: Ability, indexing: "partial" | "refused"): Handler {
  return handlerOf({
    about: "place",
    ability,
    indexing,
    across: indexing === "refused" ? true : "changes",
    async find(ground) {
      const ask = async () => namedIn(ground, await ground.request(ability.method, placeParams(ground)));
      // Who implements something is anywhere; what it is defined by is imported, and found.
      const named = indexing === "refused" ? await askCovered(ground, ask) : await ask();
      return { kind: "locations", locations: await locationsOf(ground, named, false) };
    },
  });
}
