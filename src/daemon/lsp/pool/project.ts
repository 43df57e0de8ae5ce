import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";

/** Where a package.json says which version a project wants. */
const FIELDS = ["devDependencies", "dependencies", "peerDependencies"];

/** Version texts as package.json has them; anything else is not shown. */
const VERSION = /^[\w.^~<>=|*+ -]{1,40}$/;

/**
 * That the project asks for another version of the package a server comes from than the one that answers; "" when it does not say, or asks for
 * the same. gin never starts the project's own: it is the workspace's code.
 */
export function projectNote(workspace: LspWorkspace, spec: Pick<ServerSpec, "id">, version: string): string {
  if (spec.id !== "typescript") return "";
  const wanted = wantedVersion(workspace, spec.id);
  if (wanted === undefined || wanted === version) return "";
  return `the project asks for ${spec.id} ${wanted}`;
}

function wantedVersion(workspace: LspWorkspace, name: string): string | undefined {
  const sha256 = workspace.hashAt(workspace.tree(), "package.json");
  const bytes = sha256 === undefined ? undefined : workspace.bytes(sha256);
  if (bytes === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
  for (const field of FIELDS) {
    const wanted = valueAt(valueAt(parsed, field), name);
    if (typeof wanted === "string" && VERSION.test(wanted)) return wanted;
  }
  return undefined;
}

function valueAt(object: unknown, name: string): unknown {
  if (typeof object !== "object" || object === null || !Object.hasOwn(object, name)) return undefined;
  return (object as { readonly [name: string]: unknown })[name];
}
