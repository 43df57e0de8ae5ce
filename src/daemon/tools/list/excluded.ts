/** Directories of what others made and nobody reads: left out of lists and searches at every depth. */
const EXCLUDED: ReadonlySet<string> = new Set(["node_modules", "vendor", "__pycache__", "dist", "build"]);

/** Whether a name is left out: hidden ones, and directories that hold what was made or fetched. */
export function isExcluded(name: string, isDirectory: boolean): boolean {
  return name.startsWith(".") || (isDirectory && EXCLUDED.has(name));
}
