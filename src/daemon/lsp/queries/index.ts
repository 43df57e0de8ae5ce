// The door of queries for the room: what servers are asked without anything being changed.
import { incomingCalls, outgoingCalls } from "./calls.ts";
import { completion } from "./completion.ts";
import { definition, implementation, typeDefinition } from "./definition.ts";
import { hover } from "./hover.ts";
import { references } from "./references.ts";
import { signature } from "./signature.ts";
import { restart, status } from "./status.ts";
import { symbols } from "./symbols.ts";
import type { Handlers } from "./types.ts";
import { view } from "./view.ts";
import { workspaceSymbols } from "./workspace-symbols.ts";

export { Links } from "./links.ts";
export { located } from "./locate.ts";
export { withoutRoot } from "./locations.ts";
export { createOutside, type OutsideParts } from "./outside.ts";
export { Projects } from "./projects.ts";
export type * from "./types.ts";
export { createViews } from "./views.ts";
export { createVocabularies } from "./vocabulary.ts";

/** Actions that only ask. */
export const queryHandlers: Handlers = {
  definition,
  type_definition: typeDefinition,
  implementation,
  references,
  hover,
  symbols,
  workspace_symbols: workspaceSymbols,
  incoming_calls: incomingCalls,
  outgoing_calls: outgoingCalls,
  signature,
  completion,
  view,
  status,
  restart,
};
