import { GinError } from "../base/index.ts";
import { expandBraces } from "./glob-braces.ts";
import { compileSegment, type SegmentGlob } from "./glob-segment.ts";

/** Longest pattern, in UTF-16 units: a path has at most 4,096 bytes. */
const PATTERN_UNITS = 4_096;
/** Most alternatives that braces may stand for. */
export const GLOB_ALTERNATIVES = 256;

/** A pattern made ready. */
export interface Glob {
  /**
   * Whether a path matches: with `/`, relative to where the pattern starts, and without `./`. Takes a number of steps in the product of the
   * lengths at most, whatever the pattern says: no pattern becomes a regular expression.
   */
  matches(path: string): boolean;
}

/** A segment of a pattern: `**`, or what one segment of a path must be. */
type Part = "any" | SegmentGlob;

/**
 * Makes a glob ready; it means the same in every tool. `*`, `?` and `[…]` stay in a segment, `**` as a whole segment spans zero or more, `{a,b}`
 * stands for its alternatives, `\` takes the next character as it is. An alternative without a slash matches the last name of a path, at any
 * depth; one with a slash matches the whole path, and a slash at its end means all that is below. A name that begins with a dot or a dash
 * is a name like any other. A bracket or brace without its partner is itself. Throws INVALID_REQUEST for a pattern that is too long.
 */
export function compileGlob(pattern: string): Glob {
  if (pattern.length > PATTERN_UNITS) throw tooLong(`is longer than ${PATTERN_UNITS} characters`);
  const alternatives = expandBraces(pattern, GLOB_ALTERNATIVES);
  if (alternatives === undefined) throw tooLong(`has braces for more than ${GLOB_ALTERNATIVES} alternatives`);
  const compiled = alternatives.map(compileAlternative);
  return { matches: (path) => compiled.some((matches) => matches(path)) };
}

function tooLong(what: string): GinError {
  return new GinError("INVALID_REQUEST", `a glob ${what}`, "use a shorter pattern");
}

function compileAlternative(pattern: string): (path: string) => boolean {
  if (!pattern.includes("/")) {
    // `**` alone stands for every path.
    const name = compileSegment(pattern);
    return (path) => name(path.slice(path.lastIndexOf("/") + 1));
  }
  const parts: Part[] = [];
  for (const part of pattern.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "**") parts.push(compileSegment(part));
    else if (parts.at(-1) !== "any") parts.push("any");
  }
  if (pattern.endsWith("/")) {
    if (parts.at(-1) === "any") parts.pop();
    const below: SegmentGlob = () => true;
    return (path) => matchParts([...parts, below, "any"], path.split("/"));
  }
  return (path) => matchParts(parts, path.split("/"));
}

/** The last `**` is the only place to go back to: what an earlier one could take, it can take too. */
function matchParts(parts: readonly Part[], names: readonly string[]): boolean {
  let part = 0;
  let name = 0;
  let wide: { part: number; name: number } | undefined;
  for (;;) {
    const want = parts[part];
    const have = names[name];
    if (want === "any") {
      wide = { part: ++part, name };
      if (part === parts.length) return true;
      continue;
    }
    if (want === undefined && have === undefined) return true;
    if (want !== undefined && have !== undefined && want(have)) {
      part++;
      name++;
      continue;
    }
    if (wide === undefined || wide.name >= names.length) return false;
    name = ++wide.name;
    part = wide.part;
  }
}
