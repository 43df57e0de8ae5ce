import type { FileChangeType } from "vscode-languageserver-protocol";
import { compileGlob } from "../../search/index.ts";
import type { Run } from "../session/types.ts";
import type { Uris } from "./uri.ts";

/** A file made (1), changed (2) or gone (3), by its workspace-relative path. */
export interface FileEvent {
  readonly path: string;
  readonly type: FileChangeType;
}

/** Method of the notification and of its registration. */
export const WATCHED = "workspace/didChangeWatchedFiles";

/** Bits of a watcher's `kind`, by type of event; all when it says none. */
const BIT = { 1: 1, 2: 2, 3: 4 } as const;
const EVERY_KIND = 7;

/** Whether a registered watcher wants an event at a path. */
type Watcher = (event: FileEvent) => boolean;

/** What watchers are made with. */
export interface WatchedParts {
  readonly run: Run;
  readonly uris: Uris;
  /** Workspace-relative directory the server was started in: a pattern without a base may be meant from there. */
  readonly folder: string;
  /** Paths kept for registrations to come. */
  readonly keep: number;
}

/**
 * Which events a server is told. All, as long as it registered nothing; then those that its globs take. A server registers what it watches while it reads it, so that an
 * event may come before the glob that is meant for it: what no glob took is kept and told when other globs come.
 */
export class Watched {
  readonly #parts: WatchedParts;
  #registered = "[]";
  #watchers: readonly Watcher[] | undefined;
  /** By path: how it was when it was not told. */
  readonly #untold = new Map<string, FileChangeType>();
  #overflowed = false;

  constructor(parts: WatchedParts) {
    this.#parts = parts;
  }

  /**
   * The events to be told now, with what was left untold before and is wanted now. "lost" when more than can be kept was left untold and the globs are
   * others now: what this server knows cannot be mended. What is `hidden` is not told now: whoever hides it says so when that ends, by `offer`.
   */
  take(events: Iterable<FileEvent>, hidden: (event: FileEvent) => boolean = () => false): FileEvent[] | "lost" {
    const told: FileEvent[] = [];
    if (this.#registrationsChanged()) {
      if (this.#overflowed) return "lost";
      const untold = [...this.#untold].map(([path, type]) => ({ path, type }));
      told.push(...this.offer(untold.filter((event) => !hidden(event))));
    }
    const all = [...events];
    for (const event of all) if (hidden(event) && !this.wants(event)) this.#leave(event);
    told.push(...this.offer(all.filter((event) => !hidden(event))));
    return told;
  }

  /** Those of the events that are to be told, by what is registered as of the last `take`; the others are kept. */
  offer(events: readonly FileEvent[]): FileEvent[] {
    return events.filter((event) => {
      const wanted = this.wants(event);
      if (wanted) this.#untold.delete(event.path);
      else this.#leave(event);
      return wanted;
    });
  }

  #registrationsChanged(): boolean {
    const given = this.#parts.run.registered(WATCHED);
    const text = JSON.stringify(given);
    if (text === this.#registered) return false;
    this.#registered = text;
    this.#watchers = given.length === 0 ? undefined : given.flatMap((options) => watchersOf(options, this.#parts));
    return true;
  }

  /** Whether an event is to be told, by what is registered as of the last `take`. */
  wants(event: FileEvent): boolean {
    return this.#watchers === undefined || this.#watchers.some((watcher) => watcher(event));
  }

  #leave({ path, type }: FileEvent): void {
    if (this.#overflowed) return;
    const before = this.#untold.get(path);
    // One that was made and then changed is still new to the server, and one that went and came back is changed.
    const merged = before === 1 && type === 2 ? 1 : before === 3 && type === 1 ? 2 : type;
    this.#untold.set(path, merged);
    if (this.#untold.size <= this.#parts.keep) return;
    this.#overflowed = true;
    this.#untold.clear();
  }
}

function watchersOf(options: unknown, parts: WatchedParts): Watcher[] {
  const given = isObject(options) && Array.isArray(options["watchers"]) ? (options["watchers"] as readonly unknown[]) : [];
  return given.flatMap((watcher) => {
    if (!isObject(watcher)) return [];
    const kind = typeof watcher["kind"] === "number" ? watcher["kind"] : EVERY_KIND;
    const matches = matcherOf(watcher["globPattern"], parts);
    return matches === undefined ? [] : [({ path, type }: FileEvent) => (kind & BIT[type]) !== 0 && matches(path)];
  });
}

/** Whether a glob takes a workspace-relative path; undefined for what is no glob. */
function matcherOf(pattern: unknown, { uris, folder }: WatchedParts): ((path: string) => boolean) | undefined {
  if (typeof pattern === "string") {
    const matches = globOf(pattern);
    // A pattern without a base is one for whole paths in some servers, and for paths below the folder in others.
    if (pattern.startsWith("/")) return (path) => uris.names.some((name) => matches(`${name}/${path}`.slice(1)));
    if (folder === "") return matches;
    return (path) => matches(path) || (path.startsWith(`${folder}/`) && matches(path.slice(folder.length + 1)));
  }
  if (!isObject(pattern) || typeof pattern["pattern"] !== "string") return undefined;
  const given = pattern["baseUri"];
  const uri = isObject(given) ? given["uri"] : given;
  const base = typeof uri === "string" ? uris.absoluteOf(uri) : undefined;
  if (base === undefined) return undefined;
  const matches = globOf(pattern["pattern"]);
  const below = uris.below(base);
  if (below === "") return matches;
  if (below !== undefined) return (path) => path.startsWith(`${below}/`) && matches(path.slice(below.length + 1));
  const above = base === "/" ? "/" : `${base}/`;
  const rests = uris.names.filter((name) => name.startsWith(above)).map((name) => name.slice(above.length));
  return (path) => rests.some((rest) => matches(`${rest}/${path}`));
}

/** LSP's globs are those of the tools, but for one without a slash, which the tools take at any depth: too many events do no harm, one too few does. */
function globOf(pattern: string): (path: string) => boolean {
  try {
    const glob = compileGlob(pattern);
    return (path) => glob.matches(path);
  } catch {
    // Too long to be made ready: it takes everything.
    return () => true;
  }
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
