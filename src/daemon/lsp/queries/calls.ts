import { cutText } from "../../base/index.ts";
import type { Call, Location } from "../types.ts";
import { handlerOf } from "./ground.ts";
import { symbolKind } from "./kinds.ts";
import { compareLocations, listed, locationOf, locationsOf, type Named, said } from "./locations.ts";
import { isObject, objectsOf, type Raw, rangeOf, textOf } from "./raw.ts";
import { coverUses } from "./references.ts";
import { type Ability, type Ground, type Handler, placeParams } from "./types.ts";

const PREPARE = { capability: "callHierarchyProvider", method: "textDocument/prepareCallHierarchy" } as const satisfies Ability;

/** Who calls something. */
export const incomingCalls = callsOf("callHierarchy/incomingCalls", "from");

/** What something calls. */
export const outgoingCalls = callsOf("callHierarchy/outgoingCalls", "to");

function callsOf(method: string, end: "from" | "to"): Handler {
  return handlerOf({
    about: "place",
    ability: PREPARE,
    indexing: "refused",
    across: end === "from" ? true : "changes",
    async find(ground) {
      if (end === "from") await coverUses(ground);
      const items = objectsOf(await ground.request(PREPARE.method, placeParams(ground)));
      // No calls of what can have none is no "nobody calls it".
      if (items.length === 0) ground.note(`to ${ground.leased.spec.id} nothing at that place calls or is called`);
      const answers = await Promise.all(
        items.map(async (item) => ({ item, calls: objectsOf(await ground.request(method, { item })) })),
      );
      const calls: Call[] = [];
      const known = new Set<string>();
      for (const { item, calls: found } of answers) {
        for (const raw of found) {
          const call = await callOf(ground, raw, end, item);
          // Overloads are several items of one symbol: their calls are the same.
          const key = call === undefined ? "" : JSON.stringify([call.name, call.location, call.sites]);
          if (call === undefined || known.has(key)) continue;
          known.add(key);
          calls.push(call);
        }
      }
      calls.sort((a, b) => compareLocations(a.location, b.location));
      return { kind: "calls", calls: listed(ground, calls) };
    },
  });
}

/** Sites of incoming calls are in the caller's file, those of outgoing ones in that of the item asked about. */
async function callOf(ground: Ground, raw: Raw, end: "from" | "to", item: Raw): Promise<Call | undefined> {
  const other = raw[end];
  const at = isObject(other) ? itemAt(other) : undefined;
  if (!isObject(other) || at === undefined) {
    ground.partial("malformed calls of the server are left out");
    return undefined;
  }
  const location = await locationOf(ground, at);
  if (location === undefined) return undefined;
  const uri = end === "from" ? at.uri : textOf(item["uri"]);
  const ranges = Array.isArray(raw["fromRanges"]) ? raw["fromRanges"].flatMap((one) => rangeOf(one) ?? []) : [];
  const sites: readonly Location[] = (
    await locationsOf(
      ground,
      ranges.map((range) => ({ uri, range })),
      true,
    )
  ).items;
  return {
    // A file that calls something at its top has its path for a name.
    name: said(ground, textOf(other["name"])),
    kind: symbolKind(other["kind"]),
    detail: cutText(said(ground, textOf(other["detail"])), 200),
    location,
    sites,
  };
}

function itemAt(item: Raw): Named | undefined {
  const uri = item["uri"];
  const range = rangeOf(item["selectionRange"]) ?? rangeOf(item["range"]);
  return typeof uri === "string" && range !== undefined ? { uri, range } : undefined;
}
