/** Whether a path is surely a file of a project. */
export type Covers = (path: string) => boolean;

/** Sure of nothing. */
export const NOTHING: Covers = () => false;

/**
 * Regular expressions of patterns relative to a directory of the workspace, for whole paths: patterns stand for files, a name without a wildcard for all below as well;
 * or they all stand for all below. Undefined when one of them is not understood, or leads outside.
 */
export function patternsOf(value: unknown, directory: string, stand: "files" | "all"): readonly RegExp[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const patterns = value.map((one) => (typeof one === "string" ? patternOf(one, directory, stand) : undefined));
  return patterns.every((one) => one !== undefined) ? patterns : undefined;
}

function patternOf(text: string, directory: string, stand: "files" | "all"): RegExp | undefined {
  if (!/^[\w@.*?/+-]*$/.test(text) || text.startsWith("/")) return undefined;
  const pattern = joined(directory, text);
  if (pattern === undefined) return undefined;
  if (pattern === "") return /^/;
  const names = pattern.split("/");
  const source = names.map((name) => {
    if (name === "**") return "(?:[^/]+/)*";
    return `${name
      .replace(/[.+^${}()|[\]\\-]/g, "\\$&")
      .replace(/\*/g, "[^/]*")
      .replace(/\?/g, "[^/]")}/`;
  });
  const last = names.at(-1) ?? "";
  const whole = source.join("");
  if (last === "**") return new RegExp(`^${whole}`);
  return new RegExp(`^${whole.slice(0, -1)}${stand === "files" && /[*?]/.test(last) ? "$" : "(?:/|$)"}`);
}

/** A path of the workspace by one relative to a directory of it; undefined for one that leads outside. */
export function joined(directory: string, path: string): string | undefined {
  const names = directory === "" ? [] : directory.split("/");
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return undefined;
  }
  return names.join("/");
}

/** JSON with comments, and commas behind the last; undefined when it is not that. */
export function parsedConfig(json: string): unknown {
  const bare = json
    .replace(/^\ufeff/, "")
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, text: string | undefined) => text ?? "");
  try {
    return JSON.parse(bare.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, text: string | undefined) => text ?? ""));
  } catch {
    return undefined;
  }
}
