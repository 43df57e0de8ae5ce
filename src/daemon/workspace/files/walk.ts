import { isUtf8 } from "node:buffer";
import { errnoOf, GinError } from "../../base/index.ts";
import type { Ground } from "./ground.ts";
import type { Held } from "./handles.ts";
import { invalid, ioError, notADirectory, notFound, outside, protectedName } from "./refuse.ts";
import { checkPath } from "./syntax.ts";
import { twinOf } from "./twins.ts";

/** Symlinks one walk follows at most; the kernel's own limit. */
const MAX_LINKS = 40;

/**
 * What becomes of symlinks: "all" are followed; "above" follows those on the way and means the last component itself;
 * "none" refuses them on the way, for paths that are canonical already and must still be.
 */
export type Links = "all" | "above" | "none";

/** Where a walk ended. Its handles are open only while the walk's callback runs. */
export interface Spot {
  /** The directory it is in; undefined for the root, for what a `..` led to, and below a missing directory. */
  readonly parent: Held | undefined;
  readonly name: string;
  /** Canonical path; "" is the root. */
  readonly path: string;
  /** What is there; undefined when nothing is. */
  readonly held: Held | undefined;
}

/**
 * Walks a path from the root's handle, a component at a time, and calls `use` with where it ended. Agrees with
 * `openat2(RESOLVE_BENEATH)`, and besides refuses protected names, other devices and twins. Everything it opened is closed
 * when `use` returns, so `use` must not be asynchronous. System errors come out as GinErrors at the path.
 */
export function walk<T>(ground: Ground, path: string, links: Links, use: (spot: Spot) => T): T {
  const spelled = checkPath(path);
  if (ground.guard(spelled)) throw protectedName(spelled);
  const walker = new Walker(ground, spelled, links);
  try {
    return use(walker.run());
  } catch (thrown) {
    throw ioError(thrown, spelled);
  } finally {
    walker.close();
  }
}

/** The state of one walk. */
class Walker {
  readonly #ground: Ground;
  readonly #spelled: string;
  readonly #links: Links;
  /** Directories from the root down to where the walk is; `..` goes back along it. The root is not ours to close. */
  readonly #stack: Held[];
  /** Their canonical names, one fewer. */
  readonly #names: string[] = [];
  /** Components still to go, the next one last. */
  readonly #todo: string[];
  #leaf: Held | undefined;
  #followed = 0;

  constructor(ground: Ground, spelled: string, links: Links) {
    this.#ground = ground;
    this.#spelled = spelled;
    this.#links = links;
    this.#stack = [ground.top];
    this.#todo = spelled === "" ? [] : spelled.split("/").reverse();
  }

  run(): Spot {
    for (let name = this.#todo.pop(); name !== undefined; name = this.#todo.pop()) {
      if (name === ".") continue;
      if (name === "..") {
        this.#up();
        continue;
      }
      const spot = this.#step(name);
      if (spot !== undefined) return spot;
    }
    return { parent: undefined, name: "", path: this.#names.join("/"), held: this.#here };
  }

  close(): void {
    if (this.#leaf !== undefined) this.#ground.handles.close(this.#leaf);
    for (let i = this.#stack.length - 1; i > 0; i--) {
      const held = this.#stack[i];
      if (held !== undefined) this.#ground.handles.close(held);
    }
  }

  get #here(): Held {
    return this.#stack[this.#stack.length - 1] ?? this.#ground.top;
  }

  #up(): void {
    if (this.#stack.length === 1) throw outside(this.#spelled, "leaves the workspace by a symlink");
    const left = this.#stack.pop();
    this.#names.pop();
    if (left !== undefined) this.#ground.handles.close(left);
  }

  /** Takes one component; gives the spot when it is the end. */
  #step(name: string): Spot | undefined {
    const { handles } = this.#ground;
    const parent = this.#here;
    const last = this.#todo.length === 0;
    const path = this.#names.length === 0 ? name : `${this.#names.join("/")}/${name}`;
    // Before the first symlink every prefix is the caller's own spelling, which was looked at as a whole.
    if (this.#followed > 0 && this.#ground.guard(path)) throw protectedName(path);
    const held = handles.hold(parent, name);
    if (held === undefined) return this.#missing(parent, name, path);
    this.#leaf = held;
    if (held.stat.device !== this.#ground.top.stat.device) throw outside(this.#spelled, "is on another device");
    const twin = twinOf(this.#ground, parent, name, held);
    if (twin !== undefined) throw invalid(this.#spelled, `names an entry that is spelled otherwise`, twin);
    if (held.stat.kind === "symlink" && (this.#links === "all" || (this.#links === "above" && !last))) {
      this.#follow(parent, name);
    } else if (last) {
      return { parent, name, path, held };
    } else if (held.stat.kind === "directory") {
      this.#leaf = undefined;
      this.#stack.push(held);
      this.#names.push(name);
      return undefined;
    } else throw notADirectory(path, held.stat.kind);
    this.#leaf = undefined;
    handles.close(held);
    return undefined;
  }

  /** Puts a symlink's target in the place of its name. */
  #follow(parent: Held, name: string): void {
    if (++this.#followed > MAX_LINKS) throw invalid(this.#spelled, `passes more than ${MAX_LINKS} symlinks`);
    let target: Buffer;
    try {
      target = this.#ground.fs.readlinkSync(this.#ground.handles.at(parent, name));
    } catch (thrown) {
      // It is no symlink any more: look at the name again (counted, so that a flipping one cannot keep us).
      const errno = errnoOf(thrown);
      if (errno !== "EINVAL" && errno !== "ENOENT") throw thrown;
      this.#todo.push(name);
      return;
    }
    if (!isUtf8(target)) throw invalid(this.#spelled, "passes a symlink whose target is not UTF-8");
    const text = target.toString();
    if (text.startsWith("/")) throw outside(this.#spelled, "passes an absolute symlink");
    const parts = text.split("/");
    // An empty part (a trailing or doubled slash) means, like ".", that a directory must be there.
    for (let i = parts.length - 1; i >= 0; i--) this.#todo.push(parts[i] === "" ? "." : (parts[i] ?? "."));
  }

  /** Nothing is at a name: the end, whether or not more was to come. */
  #missing(parent: Held, name: string, path: string): Spot {
    if (this.#stack.length === 1) this.#ground.check();
    if (this.#todo.length === 0) return { parent, name, path, held: undefined };
    const rest = this.#todo.reverse();
    if (rest.includes("..") || rest[rest.length - 1] === ".") throw notFound(this.#spelled);
    const whole = [path, ...rest.filter((part) => part !== ".")].join("/");
    if (this.#ground.guard(whole)) throw protectedName(whole);
    return { parent: undefined, name: "", path: whole, held: undefined };
  }
}

/** Walks to the directory at a canonical path, following nothing; PATH_NOT_FOUND or NOT_A_DIRECTORY otherwise. */
export function inDirectory<T>(ground: Ground, path: string, use: (directory: Held) => T): T {
  return walk(ground, path, "none", ({ held }) => {
    if (held === undefined) throw notFound(path);
    if (held.stat.kind !== "directory") throw notADirectory(path, held.stat.kind);
    return use(held);
  });
}

/** Splits a canonical path into its directory and its name. */
export function split(path: string): { readonly directory: string; readonly name: string } {
  const cut = path.lastIndexOf("/");
  return cut < 0 ? { directory: "", name: path } : { directory: path.slice(0, cut), name: path.slice(cut + 1) };
}

/** Walks to the directory that holds a canonical path and gives it with the last name. The root has none: NOT_A_FILE. */
export function inParent<T>(ground: Ground, path: string, use: (directory: Held, name: string) => T): T {
  const spelled = checkPath(path);
  if (spelled === "")
    throw new GinError("NOT_A_FILE", "the root is a directory", undefined, { facts: { path: "", kind: "directory" } });
  if (ground.guard(spelled)) throw protectedName(spelled);
  const { directory, name } = split(spelled);
  return inDirectory(ground, directory, (held) => {
    try {
      return use(held, name);
    } catch (thrown) {
      throw ioError(thrown, spelled);
    }
  });
}
