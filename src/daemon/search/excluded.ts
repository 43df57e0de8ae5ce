/** Directories that hold what others made: never looked into unless a call's own path leads there. */
const MADE: ReadonlySet<string> = new Set(["node_modules", "vendor", "__pycache__", "dist", "build"]);

/**
 * Whether a path, relative to where a search or a list starts (a directory's with "/" at its end), is passed over: a name on it begins with a dot, or a directory on it holds what others
 * made. No include pattern brings it back; a search that starts inside does.
 */
export function isExcluded(path: string): boolean {
  const names = path.split("/");
  return names.some((name, index) => name.startsWith(".") || (index < names.length - 1 && MADE.has(name)));
}
