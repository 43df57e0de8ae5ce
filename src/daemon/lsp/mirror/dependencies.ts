import { errnoOf, type Fs } from "../../base/index.ts";
import type { Dependencies } from "./types.ts";

/** What looking needs. */
export interface DependenciesParts {
  readonly fs: Fs;
  /** Absolute root of the workspace. */
  readonly root: string;
  /** Workspace-relative directories to look in: "" and the one the server was started in. Those that are the same count once. */
  readonly folders: readonly string[];
}

/**
 * Files a package manager writes last, when all else is in place. A lock file beside them (package-lock.json, go.sum, Cargo.lock) is an ordinary file: servers
 * hear of it as of any other.
 */
const MARKERS = [
  "node_modules/.package-lock.json",
  "node_modules/.yarn-state.yml",
  "node_modules/.yarn-integrity",
  "node_modules/.modules.yaml",
  "node_modules/.pnpm/lock.yaml",
  ".pnp.cjs",
  "vendor/modules.txt",
  "vendor/composer/installed.json",
];

/** Where Python's virtual environments lie; what is installed is a directory beside others in their site-packages. */
const VENVS = [".venv", "venv", "env"];

/** Makes it; what is there at the first look is what the others are compared with. */
export function createDependencies({ fs, root, folders }: DependenciesParts): Dependencies {
  let before: Map<string, string> | undefined;
  return {
    look() {
      const now = new Map<string, string>();
      for (const folder of new Set(folders)) lookIn(fs, root, folder, now);
      const changed = before === undefined ? [] : differing(before, now);
      before = now;
      return changed;
    },
  };
}

function lookIn(fs: Fs, root: string, folder: string, into: Map<string, string>): void {
  const at = (name: string) => (folder === "" ? name : `${folder}/${name}`);
  const look = (name: string): boolean => {
    const facts = factsOf(fs, `${root}/${name}`);
    if (facts !== undefined) into.set(name, facts);
    return facts !== undefined;
  };
  const marked = MARKERS.map((marker) => look(at(marker)));
  // An install that leaves no marker, or a link made by hand: names in the folder itself come and go.
  if (!marked.some((there, index) => there && MARKERS[index]?.startsWith("node_modules/") === true)) look(at("node_modules"));
  for (const venv of VENVS) {
    if (!look(at(`${venv}/pyvenv.cfg`))) continue;
    const lib = at(`${venv}/lib`);
    for (const name of namesIn(fs, `${root}/${lib}`)) if (name.startsWith("python")) look(`${lib}/${name}/site-packages`);
  }
}

/** What changes when a file is replaced or written, or a directory gets another name in it; undefined for nothing there. */
function factsOf(fs: Fs, path: string): string | undefined {
  const stat = unlessGone(() => fs.lstatIfThereSync(path));
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

function namesIn(fs: Fs, path: string): readonly string[] {
  return unlessGone(() => fs.readdirSync(path))?.map((name) => name.toString("utf8")) ?? [];
}

/** A folder that is no directory, or that we may not look into, has no markers for us: nor has the server. */
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (code === undefined || !["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"].includes(code)) throw thrown;
    return undefined;
  }
}

function differing(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter((name) => before.get(name) !== now.get(name));
}
