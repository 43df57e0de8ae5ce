import { type Caller, GinError, type Scope } from "../base/index.ts";

/** Throws SCOPE_FORBIDDEN unless the caller has the scope. `save` carries `delete`; no other scope carries another. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope) || (scope === "delete" && caller.scopes.has("save"))) return;
  throw new GinError("SCOPE_FORBIDDEN", `${caller.principal} lacks the scope ${scope}`, undefined, { facts: { scope } });
}

/** Whether the caller may speak of a workspace, by id. */
export function mayUseWorkspace(caller: Caller, workspace: string): boolean {
  return caller.workspaces === undefined || caller.workspaces.includes(workspace);
}

/** Throws SCOPE_FORBIDDEN unless the caller may speak of the workspace. */
export function requireWorkspace(caller: Caller, workspace: string): void {
  if (mayUseWorkspace(caller, workspace)) return;
  throw new GinError("SCOPE_FORBIDDEN", `${caller.principal}'s token is not for this workspace`);
}

/**
 * Whether the caller may touch a canonical workspace-relative path. Prefixes match whole components: "src" covers "src"
 * and "src/a", never "srcfoo". "" (the root) is touched only by a caller without prefixes.
 */
export function mayTouch(caller: Caller, path: string): boolean {
  return caller.paths === undefined || caller.paths.some((prefix) => isBelow(path, prefix));
}

/** Whether `path` is `prefix` or below it, by components. */
export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
