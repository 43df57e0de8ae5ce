import type { Hash } from "../../store/index.ts";
import type { LspWorkspace } from "../types.ts";
import { isObject } from "./raw.ts";

/** Whether a path is surely a file of the project. */
type Covers = (path: string) => boolean;

/** Configurations parsed, by content and directory; few are ever seen. */
const MOST_PARSED = 1_000;

/** Which project a file belongs to by the nearest configuration above it. */
export class Projects {
  readonly #parsed = new Map<string, Covers>();

  /**
   * Path of the nearest configuration above a file, when that surely includes it; undefined where there is none, or it is not sure: what includes by `files`, `extends`
   * or unusual patterns is not worked out, as a server opens such a file's project itself.
   */
  of(workspace: LspWorkspace, tree: Hash, names: readonly string[], path: string): string | undefined {
    for (let directory = parentOf(path); directory !== undefined; directory = parentOf(directory)) {
      for (const name of names) {
        const config = directory === "" ? name : `${directory}/${name}`;
        const hash = workspace.hashAt(tree, config);
        if (hash === undefined) continue;
        const sure = this.#covers(workspace, hash, directory, name)(path) && !hasTwin(workspace, tree, path);
        return sure ? config : undefined;
      }
    }
    return undefined;
  }

  #covers(workspace: LspWorkspace, hash: Hash, directory: string, name: string): Covers {
    const key = `${hash} ${directory}/${name}`;
    const known = this.#parsed.get(key);
    if (known !== undefined) return known;
    const bytes = workspace.bytes(hash);
    const covers = coversOf(bytes === undefined ? "" : Buffer.from(bytes).toString("utf8"), directory, name === "jsconfig.json");
    if (this.#parsed.size >= MOST_PARSED) this.#parsed.clear();
    this.#parsed.set(key, covers);
    return covers;
  }
}

/** The directory of a path; undefined above the root. */
function parentOf(path: string): string | undefined {
  if (path === "") return undefined;
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

const NOTHING: Covers = () => false;

/** What a configuration in a directory surely includes, by TypeScript's rules. */
export function coversOf(json: string, directory: string, javascript: boolean): Covers {
  const config = parsed(json);
  if (!isObject(config) || config["files"] !== undefined) return NOTHING;
  const options = isObject(config["compilerOptions"]) ? config["compilerOptions"] : {};
  const inherits = config["extends"] !== undefined;
  // What is inherited is not looked at: only what this one says itself is known.
  if (inherits && (config["include"] === undefined || config["exclude"] === undefined)) return NOTHING;
  const include = patternsOf(config["include"] ?? ["**/*"], "files");
  const exclude = patternsOf(
    config["exclude"] ?? [options["outDir"], options["declarationDir"]].filter((one) => one !== undefined),
    "all",
  );
  if (include === undefined || exclude === undefined) return NOTHING;
  const scripts = javascript || options["allowJs"] === true;
  const extension = scripts ? /\.(?:[cm]?ts|tsx|[cm]?js|jsx)$/ : /\.(?:[cm]?ts|tsx)$/;
  return (path) => {
    const within = directory === "" ? path : path.slice(directory.length + 1);
    // "**" enters no hidden directories and no packages.
    if (!extension.test(within) || /(?:^|\/)(?:\.|node_modules\/|bower_components\/|jspm_packages\/)/.test(within)) return false;
    return include.some((one) => one.test(within)) && !exclude.some((one) => one.test(within));
  };
}

/** Of "a.ts", "a.d.ts" and "a.js" side by side a project takes only the first. */
function hasTwin(workspace: LspWorkspace, tree: Hash, path: string): boolean {
  const [, base, ending = ""] = /^(.*?)(\.d\.[cm]?ts|\.[cm]?js|\.jsx)$/.exec(path) ?? [];
  if (base === undefined) return false;
  const others = [".ts", ".tsx", ".mts", ".cts", ...(ending.startsWith(".d.") ? [] : [".d.ts", ".d.mts", ".d.cts"])];
  return others.some((other) => workspace.hashAt(tree, `${base}${other}`) !== undefined);
}

/** Regular expressions of patterns that stand for files, or for directories and all below as well; undefined when one of them is not understood. */
function patternsOf(value: unknown, stand: "files" | "all"): readonly RegExp[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const patterns = value.map((one) => (typeof one === "string" ? patternOf(one, stand) : undefined));
  return patterns.every((one) => one !== undefined) ? patterns : undefined;
}

function patternOf(text: string, stand: "files" | "all"): RegExp | undefined {
  const pattern = text.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  if (pattern === "" || pattern === ".") return /^/;
  if (!/^[\w@.*?/-]+$/.test(pattern) || pattern.startsWith("/") || pattern.split("/").includes("..")) return undefined;
  const source = pattern.split("/").map((name) => {
    if (name === "**") return "(?:[^/]+/)*";
    return `${name.replace(/[.@-]/g, "\\$&").replace(/\*/g, "[^/]*").replace(/\?/g, "[^/]")}/`;
  });
  // A name without a wildcard is a file or a whole directory; so is one that ends in "**".
  const last = pattern.slice(pattern.lastIndexOf("/") + 1);
  const joined = source.join("");
  if (last === "**") return new RegExp(`^${joined}`);
  return new RegExp(`^${joined.slice(0, -1)}${stand === "files" && /[*?]/.test(last) ? "$" : "(?:/|$)"}`);
}

/** JSON with comments and commas behind the last; undefined when it is not that. */
function parsed(json: string): unknown {
  const bare = json
    .replace(/^\ufeff/, "")
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, text: string | undefined) => text ?? "");
  try {
    return JSON.parse(bare.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, text: string | undefined) => text ?? ""));
  } catch {
    return undefined;
  }
}
