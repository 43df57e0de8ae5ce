import { errnoOf, type Fs, GinError } from "../../base/index.ts";
import { type ConfinedRoot, TEMP_PREFIX } from "../files/index.ts";
import { parseRules, type RuleList, toBytes } from "./parse.ts";
import type { IgnoreRules, OuterRules } from "./types.ts";

/** Longest .gitignore that is read; a longer one is none. */
const MAX_RULE_BYTES = 1024 * 1024;

const RULES_NAME = ".gitignore";
const GIT_NAME = ".git";

/** What rules are made from. */
export interface IgnoreDeps {
  readonly root: ConfinedRoot;
  /** Absolute path of the root. By it is only asked whether `.git` or `.gitignore` is there: the first is closed to the confined root. */
  readonly path: string;
  readonly fs: Pick<Fs, "lstatIfThereSync">;
  /** Default: no rules from outside. */
  readonly outer?: OuterRules;
}

/** What is known of a directory. */
interface Known {
  readonly ignored: boolean;
  /** Holds a `.git` of its own. */
  readonly boundary: boolean;
  /** Its .gitignore: read when a path in it is first asked about. */
  rules?: { readonly text: string; readonly list: RuleList };
  readonly below: Map<string, Known>;
}

/** Rules of one place, and how many characters of a path (in bytes) come before what they judge. */
interface Placed {
  readonly list: RuleList;
  readonly skip: number;
}

const NOTHING: OuterRules = { prefix: "", files: [], ignoreCase: false };

/** What is ignored by a rule: nothing in it is asked about, so nothing of it is kept, however many of them come and go. */
const RULED_OUT: Known = { ignored: true, boundary: false, below: new Map() };

/** Errors of a busy or failing system, which say nothing of the file. */
const PASSING = new Set(["EMFILE", "ENFILE", "ENOMEM", "EIO"]);

/** Whether reading rules failed so that there may well be some: as none that would let in what they hide. */
export function unknownRules(thrown: unknown): boolean {
  return PASSING.has(errnoOf(thrown instanceof GinError ? thrown.cause : thrown) ?? "");
}

/** Rules read from a root's directory as they are asked for. */
export function createIgnoreRules(deps: IgnoreDeps): IgnoreRules {
  return new Rules(deps);
}

class Rules implements IgnoreRules {
  readonly #deps: IgnoreDeps;
  #fold = false;
  /** What stands before each path on its way from the top of the work tree. */
  #prefix = "";
  /** Weakest first. */
  #outer: readonly Placed[] = [];
  /** What `#outer` was made from. */
  #from = "";
  #top: Known = blank();

  constructor(deps: IgnoreDeps) {
    this.#deps = deps;
    this.setOuter(deps.outer ?? NOTHING);
  }

  setOuter(outer: OuterRules): boolean {
    const from = JSON.stringify(outer);
    if (from === this.#from) return false;
    this.#from = from;
    const { prefix, files, ignoreCase } = outer;
    this.#fold = ignoreCase;
    this.#prefix = prefix === "" ? "" : `${toBytes(prefix, ignoreCase)}/`;
    this.#outer = files.map(({ directory, text }) => ({
      list: parseRules(text, ignoreCase),
      skip: directory === "" ? 0 : toBytes(directory, false).length + 1,
    }));
    this.#top = blank();
    return true;
  }

  ignored(path: string, isDirectory: boolean): boolean {
    if (path === "") return false;
    const names = path.split("/");
    const last = names.pop() ?? "";
    let known = this.#top;
    let here = "";
    const chain: Placed[] = [...this.#outer];
    for (const name of names) {
      if (known.ignored) return true;
      chain.push(this.#rulesOf(known, here));
      known = this.#step(known, here, name, chain);
      here = here === "" ? name : `${here}/${name}`;
    }
    if (known.ignored || neverTracked(last)) return true;
    chain.push(this.#rulesOf(known, here));
    return isDirectory ? this.#step(known, here, last, chain).ignored : this.#judge(path, last, false, chain);
  }

  changed(path: string): string | undefined {
    const cut = path.lastIndexOf("/");
    const name = path.slice(cut + 1);
    const parent = cut < 0 ? "" : path.slice(0, cut);
    if (name === RULES_NAME) return this.#review(parent) ?? (this.#find(parent) === undefined ? parent : undefined);
    if (name === GIT_NAME) return parent === "" ? undefined : this.#review(parent);
    return this.#review(path);
  }

  listed(directory: string, names: ReadonlySet<string>): string[] {
    const known = this.#find(directory)?.known;
    if (known === undefined) return [];
    const moved: (string | undefined)[] = [];
    for (const [name, below] of known.below) {
      if (!names.has(name)) known.below.delete(name);
      // Nobody lists what is not looked into.
      else if (below.boundary) moved.push(this.#review(directory === "" ? name : `${directory}/${name}`));
    }
    // Where there were no rules and are none, the disk need not be asked: so it is in most directories.
    const had = known.boundary || (known.rules !== undefined && known.rules.text !== "");
    if (had || names.has(RULES_NAME) || names.has(GIT_NAME)) moved.push(this.#review(directory));
    return moved.filter((one) => one !== undefined);
  }

  /** Compares what is kept of a directory with what is there; forgets it when that differs, and when it is gone. */
  #review(directory: string): string | undefined {
    const found = this.#find(directory);
    if (found === undefined) return undefined;
    const { known, forget } = found;
    if (directory !== "" && this.#isThere(directory) === false) {
      forget();
      return undefined;
    }
    const moved = directory !== "" && known.boundary !== this.#isBoundary(directory);
    const now = known.rules === undefined ? undefined : this.#readRules(directory);
    if (!moved && (now === undefined || known.rules?.text === now)) return undefined;
    forget();
    return directory;
  }

  #find(directory: string): { known: Known; forget: () => void } | undefined {
    let known = this.#top;
    let forget = (): void => {
      this.#top = blank();
    };
    if (directory === "") return { known, forget };
    for (const name of directory.split("/")) {
      const next = known.below.get(name);
      if (next === undefined) return undefined;
      const { below } = known;
      forget = () => void below.delete(name);
      known = next;
    }
    return { known, forget };
  }

  #step(parent: Known, here: string, name: string, chain: readonly Placed[]): Known {
    const kept = parent.below.get(name);
    if (kept !== undefined) return kept;
    const path = here === "" ? name : `${here}/${name}`;
    if (neverTracked(name) || this.#judge(path, name, true, chain)) return RULED_OUT;
    const boundary = this.#isBoundary(path);
    const known: Known = { ignored: boundary, boundary, below: new Map() };
    parent.below.set(name, known);
    return known;
  }

  #judge(path: string, name: string, isDirectory: boolean, chain: readonly Placed[]): boolean {
    const whole = this.#prefix + toBytes(path, this.#fold);
    const last = toBytes(name, this.#fold);
    for (let at = chain.length - 1; at >= 0; at--) {
      const placed = chain[at];
      const said = placed?.list.judge(placed.skip === 0 ? whole : whole.slice(placed.skip), last, isDirectory);
      if (said !== undefined) return said;
    }
    return false;
  }

  #rulesOf(known: Known, directory: string): Placed {
    let { rules } = known;
    if (rules === undefined) {
      const text = this.#readRules(directory);
      rules = { text: text ?? "", list: parseRules(text ?? "", this.#fold) };
      // What could not be read for now is read when it is next asked about.
      if (text !== undefined) known.rules = rules;
    }
    const below = directory === "" ? 0 : toBytes(directory, false).length + 1;
    return { list: rules.list, skip: this.#prefix.length + below };
  }

  /** A directory's own rules; none when there is no file, or only a symlink, which Git does not follow either. Undefined: they cannot be told now. */
  #readRules(directory: string): string | undefined {
    const path = directory === "" ? RULES_NAME : `${directory}/${RULES_NAME}`;
    if (this.#isThere(path) === false) return "";
    try {
      const read = this.#deps.root.readFile(path, MAX_RULE_BYTES);
      return read.path === path ? read.bytes.toString("utf8") : "";
    } catch (thrown) {
      // Missing, a directory, closed to us, too long, or the root itself is gone: no rules, and whoever asks learns the rest by himself.
      return unknownRules(thrown) ? undefined : "";
    }
  }

  #isBoundary(directory: string): boolean {
    // What may not be looked into cannot be told from a repository: it stays outside.
    return this.#isThere(`${directory}/${GIT_NAME}`) ?? true;
  }

  /** Undefined when that may not be asked. */
  #isThere(path: string): boolean | undefined {
    try {
      return this.#deps.fs.lstatIfThereSync(`${this.#deps.path}/${path}`) !== undefined;
    } catch (thrown) {
      return errnoOf(thrown) === "EACCES" ? undefined : false;
    }
  }
}

function blank(): Known {
  return { ignored: false, boundary: false, below: new Map() };
}

function neverTracked(name: string): boolean {
  return name === GIT_NAME || name.startsWith(TEMP_PREFIX);
}
