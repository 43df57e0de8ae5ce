import { isAbsolute, join, sep } from "node:path";
import type { Programs } from "../../base/index.ts";
import type { Found, ServerOverride } from "../pool/types.ts";
import type { ServerSpec } from "./types.ts";

/** What finding programs needs. */
export interface DiscoverDeps {
  readonly programs: Programs;
  /** PATH of the daemon. */
  readonly path: string;
  /** Absolute roots of every workspace of the host, asked anew each time: nothing from below one is ever started. */
  readonly roots: () => readonly string[];
  /** Absolute directory of a package that gin brings along; undefined when it is not there. */
  readonly own: (name: string) => string | undefined;
  /** Absolute path of the Node that runs gin's own packages. */
  readonly node: string;
  readonly overrides: { readonly [server: string]: ServerOverride | undefined };
}

/**
 * Where a row's program is: what the owner says, else gin's own package, else the first of the daemon's PATH. Only absolute directories count,
 * and never one inside a workspace, also not by a symlink: a checkout must not bring its own servers. Undefined when there is none.
 */
export function discover(spec: ServerSpec, deps: DiscoverDeps): Found | undefined {
  const override = deps.overrides[spec.id];
  for (const [program = "", ...args] of spec.commands) {
    const found = override?.command === undefined ? locate(program, deps) : usable(override.command, deps);
    if (found === undefined) continue;
    const prefix = program.startsWith("gin:") && override?.command === undefined ? [deps.node, found] : [found];
    return { command: [...prefix, ...(override?.args ?? args)] };
  }
  return undefined;
}

/** The directories of a PATH that are absolute and outside of every workspace, as they stand there. */
export function safePath(deps: Pick<DiscoverDeps, "programs" | "path" | "roots">): readonly string[] {
  const roots = realRoots(deps);
  return deps.path.split(":").filter((directory) => {
    if (!isAbsolute(directory)) return false;
    const real = deps.programs.realpath(directory);
    return real !== undefined && !within(real, roots) && !within(directory, roots);
  });
}

/** Whether a value, or a part of it between colons, is a path that leads into a workspace, also by a symlink. */
export function leadsInside(value: string, deps: Pick<DiscoverDeps, "programs" | "roots">): boolean {
  const roots = realRoots(deps);
  return value
    .split(":")
    .filter(isAbsolute)
    .some((path) => within(path, roots) || within(deps.programs.realpath(path) ?? path, roots));
}

function locate(program: string, deps: DiscoverDeps): string | undefined {
  if (program.startsWith("gin:")) {
    const [name = "", ...rest] = program.slice("gin:".length).split("/");
    const directory = deps.own(name);
    const file = directory === undefined ? undefined : join(directory, ...rest);
    return file !== undefined && deps.programs.realpath(file) !== undefined ? file : undefined;
  }
  for (const directory of safePath(deps)) {
    const found = usable(join(directory, program), deps);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The path itself, not what it links to: some programs look at the name they are called by. */
function usable(path: string, deps: Pick<DiscoverDeps, "programs" | "roots">): string | undefined {
  const real = deps.programs.realpath(path);
  if (real === undefined || !deps.programs.isExecutable(real)) return undefined;
  const roots = realRoots(deps);
  return within(real, roots) || within(path, roots) ? undefined : path;
}

function realRoots(deps: Pick<DiscoverDeps, "programs" | "roots">): readonly string[] {
  return deps.roots().flatMap((root) => [root, deps.programs.realpath(root) ?? root]);
}

function within(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`));
}
