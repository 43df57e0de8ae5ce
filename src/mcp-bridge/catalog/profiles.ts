import { AGENT } from "./agent.ts";
import { CORE } from "./core.ts";
import {
  AGENT_INSTRUCTIONS,
  INSTRUCTIONS,
  READ_ONLY_INSTRUCTIONS,
  ROUTE_INSTRUCTIONS,
  TABLE_INSTRUCTIONS,
} from "./instructions.ts";
import { READ_ONLY } from "./read-only.ts";
import { ROUTE } from "./route.ts";
import type { Tool } from "./types.ts";

/** A set of tools that a host is served. */
export interface Profile {
  /** In the order they are listed; it never depends on the connection or on what was called before. "table": what the daemon lists. */
  readonly tools: readonly Tool[] | "table";
  readonly instructions: string;
  /** True: what could change anything is refused before it is sent, whatever its tool made of it. */
  readonly readsOnly: boolean;
}

/** Every profile by its name. */
export const PROFILES = {
  core: { tools: CORE, instructions: INSTRUCTIONS, readsOnly: false },
  agent: { tools: AGENT, instructions: AGENT_INSTRUCTIONS, readsOnly: false },
  tools: { tools: "table", instructions: TABLE_INSTRUCTIONS, readsOnly: false },
  route: { tools: ROUTE, instructions: ROUTE_INSTRUCTIONS, readsOnly: true },
  "read-only": { tools: READ_ONLY, instructions: READ_ONLY_INSTRUCTIONS, readsOnly: true },
} as const satisfies { readonly [name: string]: Profile };

/** Name of a profile. */
export type ProfileName = keyof typeof PROFILES;

/** Whether a text names a profile. */
export function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}
