import type { AnyTool, ToolTable } from "../types.ts";
import { type Score, scoreOf } from "./score.ts";

/** Points under which a tool is not named at all. */
const FLOOR = 8;
/** Margin up to which the best two are too close to tell. */
const CLOSE = 3;
/** Points from which the best one is a good guess. */
const HIGH = 16;

/** What may be named. */
export interface RouteOptions {
  /** Undefined: one, or two when the best are close. */
  readonly most: number | undefined;
  readonly mutating: boolean;
  readonly network: boolean;
}

/** The tools that fit a need, best first. */
export interface Route {
  readonly confidence: "none" | "low" | "ambiguous" | "high";
  /** How far the best is ahead of the next. */
  readonly margin: number;
  readonly matches: readonly Score[];
}

/** Ranks the tools for a need. Names decide between equals, so the same need always gives the same. */
export function route(tools: ToolTable, need: string, options: RouteOptions): Route {
  const ranked = tools
    .filter((tool) => mayBeNamed(tool, options))
    .map((tool) => scoreOf(tool, need))
    .filter(({ points }) => points >= FLOOR)
    .sort((a, b) => b.points - a.points || (a.tool.name < b.tool.name ? -1 : 1));
  const [best, second] = ranked;
  if (best === undefined) return { confidence: "none", margin: 0, matches: [] };
  const margin = best.points - (second?.points ?? 0);
  const close = second !== undefined && margin <= CLOSE;
  const confidence = close ? "ambiguous" : best.points >= HIGH ? "high" : "low";
  return { confidence, margin, matches: ranked.slice(0, options.most ?? (close ? 2 : 1)) };
}

function mayBeNamed({ risk }: AnyTool, { mutating, network }: RouteOptions): boolean {
  if (risk === "mutating" || risk === "shell") return mutating;
  return risk !== "network" || network;
}
