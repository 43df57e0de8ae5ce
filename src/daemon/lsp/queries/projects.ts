import type { Hash } from "../../store/index.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";
import { type Covers, joined, NOTHING, parsedConfig, patternsOf } from "./project-files.ts";
import { isObject, type Raw } from "./raw.ts";

/** By whose rules projects are found. */
type Rules = NonNullable<ServerSpec["projects"]>;

/** Configurations that one inherits from, at most. */
const MOST_BASES = 20;

/** The projects of one tree. */
export interface ProjectsOf {
  /** Whether the server knows its project before a file of it is open. */
  readonly known: boolean;
  /**
   * Names the project that surely includes a file; undefined where none does, or it is not sure: what includes by unusual settings is not worked out, as a server finds
   * an open file's project itself.
   */
  of(path: string): string | undefined;
}

/** The projects of workspaces, as their configurations say. */
export class Projects {
  /** Of the last tree asked about, by workspace and rules. */
  readonly #last = new Map<string, { readonly tree: Hash; readonly projects: ProjectsOf }>();

  at(workspace: LspWorkspace, tree: Hash, rules: Rules): ProjectsOf {
    const key = `${workspace.rowid} ${rules}`;
    const last = this.#last.get(key);
    if (last?.tree === tree) return last.projects;
    const configs = new Configs(workspace, tree);
    const projects = rules === "open" ? OPEN_ALONE : rules === "pyright" ? pythonProject(configs) : typescriptProjects(configs);
    this.#last.set(key, { tree, projects });
    return projects;
  }

  /** Forgets those of a workspace. */
  forget(workspace: number): void {
    for (const key of this.#last.keys()) if (key.startsWith(`${workspace} `)) this.#last.delete(key);
  }
}

/** Of a server that knows what is open, and nothing else. */
const OPEN_ALONE: ProjectsOf = { known: false, of: () => undefined };

/** What the files of one tree hold. */
class Configs {
  readonly #workspace: LspWorkspace;
  readonly #tree: Hash;

  constructor(workspace: LspWorkspace, tree: Hash) {
    this.#workspace = workspace;
    this.#tree = tree;
  }

  has(path: string): boolean {
    return this.#workspace.hashAt(this.#tree, path) !== undefined;
  }

  /** Undefined where nothing is; "" for what is not kept. */
  text(path: string): string | undefined {
    const hash = this.#workspace.hashAt(this.#tree, path);
    if (hash === undefined) return undefined;
    const bytes = this.#workspace.bytes(hash);
    return bytes === undefined ? "" : Buffer.from(bytes).toString("utf8");
  }
}

/** The nearest tsconfig.json or jsconfig.json above a file decides, as where a server looks first. */
function typescriptProjects(configs: Configs): ProjectsOf {
  const nearest = new Map<string, Project | undefined>();
  const nearestOf = (directory: string): Project | undefined => {
    if (nearest.has(directory)) return nearest.get(directory);
    const config = ["tsconfig.json", "jsconfig.json"]
      .map((name) => (directory === "" ? name : `${directory}/${name}`))
      .find((path) => configs.has(path));
    const own = config === undefined ? undefined : { config, covers: typescriptCovers(configs, config) };
    const found = own ?? (directory === "" ? undefined : nearestOf(parentOf(directory)));
    nearest.set(directory, found);
    return found;
  };
  return {
    known: false,
    of(path) {
      const project = nearestOf(parentOf(path));
      return project?.covers(path) === true && !hasTwin(configs, path) ? project.config : undefined;
    },
  };
}

interface Project {
  readonly config: string;
  readonly covers: Covers;
}

/** What decides which files a configuration includes; patterns are relative to the directory of the one that says them. */
interface Includes {
  readonly files: boolean;
  readonly include?: Said;
  readonly exclude?: Said;
  readonly out: readonly Said[];
  readonly scripts: boolean;
}

interface Said {
  readonly directory: string;
  readonly patterns: unknown;
}

const SAYS_NOTHING: Includes = { files: false, out: [], scripts: false };

function typescriptCovers(configs: Configs, path: string): Covers {
  const says = includesOf(configs, path, MOST_BASES);
  if (says === undefined || says.files) return NOTHING;
  const directory = parentOf(path);
  const { patterns: included, directory: from } = says.include ?? { directory, patterns: ["**/*"] };
  const include = patternsOf(included, from, "files");
  const excludes = says.exclude === undefined ? says.out : [says.exclude];
  const exclude = excludes.map((one) => patternsOf(one.patterns, one.directory, "all"));
  if (include === undefined || !exclude.every((one) => one !== undefined)) return NOTHING;
  const scripts = says.scripts || path.endsWith("jsconfig.json");
  const extension = scripts ? /\.(?:[cm]?ts|tsx|[cm]?js|jsx)$/ : /\.(?:[cm]?ts|tsx)$/;
  // "**" enters no hidden directories and no packages.
  const skipped = /(?:^|\/)(?:\.|node_modules\/|bower_components\/|jspm_packages\/)/;
  const all = exclude.flat();
  return (file) =>
    extension.test(file) && !skipped.test(file) && include.some((one) => one.test(file)) && !all.some((one) => one.test(file));
}

/** With what it inherits; undefined where that is not known. */
function includesOf(configs: Configs, path: string, left: number): Includes | undefined {
  const config = parsedConfig(configs.text(path) ?? "");
  if (!isObject(config) || left === 0) return undefined;
  const directory = parentOf(path);
  const given = config["extends"] ?? [];
  const bases = (Array.isArray(given) ? given : [given]).map((base) => baseOf(configs, directory, base, left - 1));
  const inherited = bases.includes(undefined) ? undefined : (Object.assign({}, SAYS_NOTHING, ...bases) as Includes);
  const own = ownIncludes(config, directory);
  // Only an include and an exclude of its own leave nothing to be inherited that matters, but for what is written out.
  if (inherited === undefined) return own.include !== undefined && own.exclude !== undefined ? own : undefined;
  const include = own.include ?? (own.files ? undefined : inherited.include);
  return {
    files: own.files || (inherited.files && own.include === undefined),
    ...(include === undefined ? {} : { include }),
    ...withExclude(own.exclude ?? inherited.exclude),
    out: own.out.length > 0 ? own.out : inherited.out,
    scripts: own.scripts || inherited.scripts,
  };
}

function withExclude(exclude: Said | undefined): Pick<Includes, "exclude"> {
  return exclude === undefined ? {} : { exclude };
}

function ownIncludes(config: Raw, directory: string): Includes {
  const options = isObject(config["compilerOptions"]) ? config["compilerOptions"] : {};
  const said = (patterns: unknown) => (patterns === undefined ? undefined : { directory, patterns });
  const include = said(config["include"]);
  const out = [options["outDir"], options["declarationDir"]].filter((one) => one !== undefined);
  return {
    files: config["files"] !== undefined,
    ...(include === undefined ? {} : { include }),
    ...withExclude(said(config["exclude"])),
    out: out.length === 0 ? [] : [{ directory, patterns: out }],
    scripts: options["allowJs"] === true,
  };
}

function baseOf(configs: Configs, directory: string, base: unknown, left: number): Includes | undefined {
  if (typeof base !== "string") return undefined;
  // These hold options of the compiler and nothing else.
  if (base.startsWith("@tsconfig/")) return SAYS_NOTHING;
  if (!base.startsWith(".")) return undefined;
  const path = joined(directory, base);
  const found = path === undefined ? undefined : [path, `${path}.json`].find((one) => configs.has(one));
  return found === undefined ? undefined : includesOf(configs, found, left);
}

/** Of "a.ts", "a.d.ts" and "a.js" side by side a project takes only the first. */
function hasTwin(configs: Configs, path: string): boolean {
  const [, base, ending = ""] = /^(.*?)(\.d\.[cm]?ts|\.[cm]?js|\.jsx)$/.exec(path) ?? [];
  if (base === undefined) return false;
  const others = [".ts", ".tsx", ".mts", ".cts", ...(ending.startsWith(".d.") ? [] : [".d.ts", ".d.mts", ".d.cts"])];
  return others.some((other) => configs.has(`${base}${other}`));
}

/** What pyright includes by itself. */
const ALL_PYTHON: Covers = (path) => /\.pyi?$/.test(path) && !/(?:^|\/)(?:\.|node_modules\/|__pycache__\/)/.test(path);

/** The one project of the root, where the server is started. */
function pythonProject(configs: Configs): ProjectsOf {
  const own = configs.text("pyrightconfig.json");
  const shared = configs.text("pyproject.toml") ?? "";
  // Tables of TOML are not worked out.
  const unknown = /^\s*\[\s*tool\s*\.\s*"?(?:based)?pyright/m.test(shared);
  const covers = own === undefined ? (unknown ? NOTHING : ALL_PYTHON) : pythonCovers(own);
  return { known: true, of: (path) => (covers(path) ? "" : undefined) };
}

function pythonCovers(json: string): Covers {
  const config = parsedConfig(json);
  if (!isObject(config) || config["extends"] !== undefined) return NOTHING;
  const include = patternsOf(config["include"] ?? ["**"], "", "all");
  const exclude = patternsOf(config["exclude"] ?? [], "", "all");
  if (include === undefined || exclude === undefined) return NOTHING;
  return (path) => ALL_PYTHON(path) && include.some((one) => one.test(path)) && !exclude.some((one) => one.test(path));
}

/** The directory of a path; "" is the root. */
function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
