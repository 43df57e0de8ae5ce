// The door of workspace: one directory, its head, and the only way to change a file.
import { WorkspaceActor, type WorkspaceDeps } from "./actor.ts";
import { type Recovered, recover } from "./recovery.ts";
import type { Workspace } from "./types.ts";

export type { WorkspaceDeps } from "./actor.ts";
export * from "./files/index.ts";
export { CAPTURE_BYTES, CHANGE_BYTES, QUEUED_SAVES, WHOLE_READ_BYTES } from "./limits.ts";
export type { Recovered } from "./recovery.ts";
export type * from "./types.ts";

/**
 * Recovers a workspace's directory from its open saves and takes it into service. The caller holds the store's lock and has
 * taken the workspace over (a fresh epoch in `row`). Rejects with the GinError of whatever recovery could not do.
 */
export async function openWorkspace(
  deps: WorkspaceDeps,
): Promise<{ readonly workspace: Workspace; readonly recovered: Recovered }> {
  const recovered = await recover(deps);
  return { workspace: new WorkspaceActor(deps, recovered.line, recovered.leftover), recovered };
}
