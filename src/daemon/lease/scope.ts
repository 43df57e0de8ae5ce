/**
 * Scopes: lists of canonical path prefixes, compared component by component ("a" covers "a/b", not "ab").
 * An empty list is the whole workspace.
 */
export type Scope = readonly string[];

/** True when `prefix` is the path itself or a directory above it; "" is above everything. */
function isWithin(path: string, prefix: string): boolean {
  return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}

/** True when the path lies in the scope. */
export function covers(scope: Scope, path: string): boolean {
  return scope.length === 0 || scope.some((prefix) => isWithin(path, prefix));
}

/** True when some path could lie in both. */
export function overlap(a: Scope, b: Scope): boolean {
  if (a.length === 0 || b.length === 0) return true;
  return a.some((one) => b.some((other) => isWithin(one, other) || isWithin(other, one)));
}

/** The same scope without prefixes that others cover, in code unit order; one that holds "" is the whole workspace. */
export function tidy(scope: Scope): string[] {
  const unique = [...new Set(scope)].sort();
  if (unique.includes("")) return [];
  return unique.filter((prefix) => !unique.some((other) => other !== prefix && isWithin(prefix, other)));
}

/** More prefixes than this in a proposal read worse than the whole workspace. */
const MOST_PREFIXES = 64;

/** The scope to propose to whoever wants to write these paths: for each top-level name, what its paths have in common. */
export function commonPrefixes(paths: Scope): string[] {
  const groups = new Map<string, string[]>();
  for (const path of paths) {
    const parts = path.split("/");
    const top = parts[0] ?? "";
    const common = groups.get(top);
    if (common === undefined) groups.set(top, parts);
    else {
      const differs = common.findIndex((part, index) => part !== parts[index]);
      if (differs >= 0) groups.set(top, common.slice(0, differs));
    }
  }
  return groups.size > MOST_PREFIXES ? [] : [...groups.values()].map((parts) => parts.join("/")).sort();
}
