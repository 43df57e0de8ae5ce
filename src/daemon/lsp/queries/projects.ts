import type { Hash } from "../../store/index.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";
import { isObject } from "./raw.ts";

/** Whether a path is surely a file of the project. */
type Covers = (path: string) => boolean;

/** By whose rules projects are found. */
type Rules = NonNullable<ServerSpec["projects"]>;

/** Configurations parsed, by content and place; few are ever seen. */
const MOST_PARSED = 1_000;

/** The projects of one tree. */
export interface ProjectsOf {
  /** Whether the server knows its project before a file of it is open. */
  readonly known: boolean;
  /**
   * Names the project that surely includes a file; undefined where none does, or it is not sure: what includes by inherited or unusual settings is not worked out, as a
   * server finds an open file's project itself.
   */
  of(path: string): string | undefined;
}

/** What the configurations of trees say, each parsed once. */
export class Projects {
  readonly #parsed = new Map<string, Covers>();

  at(workspace: LspWorkspace, tree: Hash, rules: Rules): ProjectsOf {
    if (rules === "pyright") {
      const covers = this.#pythonAt(workspace, tree);
      return { known: true, of: (path) => (covers(path) ? "" : undefined) };
    }
    const nearest = new Map<string, Project | undefined>();
    const nearestOf = (directory: string): Project | undefined => {
      if (nearest.has(directory)) return nearest.get(directory);
      const found =
        this.#typescriptIn(workspace, tree, directory) ?? (directory === "" ? undefined : nearestOf(parentOf(directory)));
      nearest.set(directory, found);
      return found;
    };
    return {
      known: false,
      of(path) {
        const project = nearestOf(parentOf(path));
        return project?.covers(path) === true && !hasTwin(workspace, tree, path) ? project.config : undefined;
      },
    };
  }

  #typescriptIn(workspace: LspWorkspace, tree: Hash, directory: string): Project | undefined {
    for (const name of ["tsconfig.json", "jsconfig.json"]) {
      const config = directory === "" ? name : `${directory}/${name}`;
      const hash = workspace.hashAt(tree, config);
      if (hash === undefined) continue;
      const covers = this.#covers(workspace, hash, config, (json) => coversOf(json, directory, name === "jsconfig.json"));
      return { config, covers };
    }
    return undefined;
  }

  /** Of the root, where the server is started. */
  #pythonAt(workspace: LspWorkspace, tree: Hash): Covers {
    for (const [name, parse] of [
      ["pyrightconfig.json", pythonCoversOf],
      // Its tables are not worked out.
      ["pyproject.toml", (toml: string) => (/^\s*\[\s*tool\s*\.\s*"?(?:based)?pyright/m.test(toml) ? NOTHING : undefined)],
    ] as const) {
      const hash = workspace.hashAt(tree, name);
      const covers = hash === undefined ? undefined : this.#covers(workspace, hash, name, (text) => parse(text) ?? ALL_PYTHON);
      if (covers !== undefined && (name === "pyrightconfig.json" || covers === NOTHING)) return covers;
    }
    return ALL_PYTHON;
  }

  #covers(workspace: LspWorkspace, hash: Hash, config: string, parse: (text: string) => Covers): Covers {
    const key = `${hash} ${config}`;
    const known = this.#parsed.get(key);
    if (known !== undefined) return known;
    const bytes = workspace.bytes(hash);
    const covers = bytes === undefined ? NOTHING : parse(Buffer.from(bytes).toString("utf8"));
    if (this.#parsed.size >= MOST_PARSED) this.#parsed.clear();
    this.#parsed.set(key, covers);
    return covers;
  }
}

interface Project {
  readonly config: string;
  readonly covers: Covers;
}

/** The directory of a path; "" is the root. */
function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

const NOTHING: Covers = () => false;

/** What pyright includes by itself. */
const ALL_PYTHON: Covers = (path) => /\.pyi?$/.test(path) && !/(?:^|\/)(?:\.|node_modules\/|__pycache__\/)/.test(path);

/** What a pyrightconfig.json at the root surely includes. */
export function pythonCoversOf(json: string): Covers {
  const config = parsed(json);
  if (!isObject(config) || config["extends"] !== undefined) return NOTHING;
  const include = patternsOf(config["include"] ?? ["**"], "all");
  const exclude = patternsOf(config["exclude"] ?? [], "all");
  if (include === undefined || exclude === undefined) return NOTHING;
  return (path) => ALL_PYTHON(path) && include.some((one) => one.test(path)) && !exclude.some((one) => one.test(path));
}

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
