import { type Caller, GinError } from "../base/index.ts";
import { mayTouch, mayUseWorkspace } from "../policy/index.ts";
import type { Target } from "./invocation.ts";
import type { Operation } from "./operations.ts";
import type { Hosted } from "./types.ts";

/** The workspace a request speaks of, as its operation needs it. */
export interface Resolved {
  readonly target: Target | undefined;
  readonly hosted: Hosted | undefined;
}

const NONE: Resolved = { target: undefined, hosted: undefined };

/**
 * Finds the workspace by id or name; both fields may be left out when exactly one fits. Throws WORKSPACE_NOT_FOUND listing
 * those this caller may name, or SCOPE_FORBIDDEN for one that exists and is not this caller's.
 */
export function resolve(
  all: readonly Hosted[],
  caller: Caller,
  need: Operation["target"],
  repository: string,
  workspace: string,
): Resolved {
  if (need === "host") return NONE;
  const only = all[0];
  if (all.length === 1 && only !== undefined && repository === "" && workspace === "" && isOpen(only)) {
    if (caller.workspaces === undefined) return { target: only, hosted: only };
  }
  const named = all.filter(
    (one) =>
      (workspace === "" || one.id === workspace || one.name === workspace) &&
      (repository === "" || one.repository === repository || one.repositoryName === repository),
  );
  const allowed = named.filter((one) => mayUseWorkspace(caller, one.id));
  const said = repository !== "" || workspace !== "";
  const found = pick(allowed, need);
  if (found !== undefined) return { target: isOpen(found) ? found : undefined, hosted: found };
  if (need === "optional" && !said) return NONE;
  throw notFound(all, caller, named, allowed, workspace || repository);
}

/** The one that fits. A closed one is meant only where none is open, or where closed ones count. */
function pick(allowed: readonly Hosted[], need: Operation["target"]): Hosted | undefined {
  const open = allowed.filter(isOpen);
  if (open.length === 1 && (need !== "any" || allowed.length === 1)) return open[0];
  return need === "any" && allowed.length === 1 ? allowed[0] : undefined;
}

function isOpen(one: Hosted): one is Target {
  return one.workspace !== undefined;
}

function notFound(
  all: readonly Hosted[],
  caller: Caller,
  named: readonly Hosted[],
  allowed: readonly Hosted[],
  said: string,
): GinError {
  if (said !== "" && named.length > 0 && allowed.length === 0) {
    return new GinError("SCOPE_FORBIDDEN", "the token is not for this workspace", undefined, { facts: { scope: "workspace" } });
  }
  const workspaces = all
    .filter((one) => mayUseWorkspace(caller, one.id))
    .slice(0, 50)
    .map((one) => ({
      id: one.id,
      name: one.name,
      repository: one.repositoryName,
      status: isOpen(one) ? "open" : "closed",
    }));
  return new GinError("WORKSPACE_NOT_FOUND", whyNot(said, allowed), undefined, { facts: { workspaces } });
}

function whyNot(said: string, allowed: readonly Hosted[]): string {
  if (said === "")
    return allowed.length === 0 ? "this host has no workspace open" : "this host has more than one workspace: name one";
  if (allowed.length === 0) return "no workspace of that id or name";
  return allowed.length === 1 ? "the workspace is closed: open it first" : "more than one workspace of that name: use the id";
}

/** Throws SCOPE_FORBIDDEN unless the caller may touch the canonical path ("" is the whole workspace). */
export function requirePath(caller: Caller, path: string): void {
  if (mayTouch(caller, path)) return;
  throw new GinError("SCOPE_FORBIDDEN", "the token does not cover this path", undefined, { facts: { scope: "path", path } });
}
