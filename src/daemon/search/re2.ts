import { RE2JS } from "re2js";
import { GinError } from "../base/index.ts";

/** Makes an expression of RE2's syntax ready. `suggestion` says what to do about one that is none. Throws INVALID_REGEX. */
export function compileRe2(pattern: string, flags: number, suggestion: string): RE2JS {
  try {
    return RE2JS.compile(pattern, flags);
  } catch (cause) {
    const said =
      cause instanceof Error ? cause.message.replace(/^error parsing regexp: /, "").slice(0, 200) : "it cannot be read";
    throw new GinError("INVALID_REGEX", `the pattern is no RE2 expression: ${said}`, suggestion, { cause });
  }
}
