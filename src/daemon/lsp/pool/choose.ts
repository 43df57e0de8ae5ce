import { GinError } from "../../base/index.ts";
import { languageOf, serverNamed, serversFor } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace } from "../types.ts";
import type { Found, PoolDeps, Wanted } from "./types.ts";

/** A row that can be started, and its program. */
export interface Choice {
  readonly spec: ServerSpec;
  readonly found: Found;
}

type ChooseDeps = Pick<PoolDeps, "table" | "discover" | "disabled">;

/**
 * The row for a question: the one named, else the first for the path that is installed. Throws UNSUPPORTED (none, not installed, switched off)
 * and LSP_NEEDS_TRUST.
 */
export function choose(workspace: LspWorkspace, wanted: Wanted, deps: ChooseDeps): Choice {
  const candidates = candidatesOf(wanted, deps.table);
  const allowed = candidates.filter((spec) => !deps.disabled(spec));
  const [first] = allowed;
  if (first === undefined) {
    const [off] = candidates;
    throw unsupported(`the language server ${off?.id} is switched off`, "the owner set lsp_servers so", {
      requested: off?.id ?? "",
    });
  }
  for (const spec of allowed) {
    const found = deps.discover(spec);
    if (found === undefined) continue;
    if (spec.untrusted === "refused" && !workspace.trusted) throw needsTrust(spec);
    return { spec, found };
  }
  throw unsupported(`the language server ${first.id} is not installed`, first.install, { requested: first.id });
}

function candidatesOf({ path, server }: Wanted, table: readonly ServerSpec[]): readonly ServerSpec[] {
  if (server !== undefined) {
    const named = serverNamed(server, table);
    const supported = table.map((row) => row.id);
    if (named === undefined)
      throw unsupported(`there is no language server ${server}`, undefined, { requested: server, supported });
    if (path !== undefined && languageOf(named, path) === undefined) {
      throw unsupported(`the language server ${server} is not for ${path}`, undefined, { requested: server });
    }
    return [named];
  }
  const candidates = serversFor(path ?? "", table);
  if (candidates.length > 0) return candidates;
  throw unsupported(`no language server of the table is for ${path ?? "this"}`, "gin lsp status lists those there are", {
    requested: path ?? "",
  });
}

function unsupported(message: string, suggestion: string | undefined, facts: NonNullable<GinError["facts"]>): GinError {
  return new GinError("UNSUPPORTED", message, suggestion, { facts });
}

function needsTrust(spec: ServerSpec): GinError {
  return new GinError(
    "LSP_NEEDS_TRUST",
    `${spec.id} could run code of this workspace, which is not trusted: ${spec.runs}`,
    undefined,
    { facts: { server: spec.id } },
  );
}

/** The directory a row is started for: the root, or the topmost or nearest one above the path that has a marker. */
export function folderFor(workspace: LspWorkspace, spec: ServerSpec, path: string): string {
  if (spec.folder === "root") return "";
  const tree = workspace.tree();
  const names = path.split("/").slice(0, -1);
  const above = [...names.keys(), names.length].map((count) => names.slice(0, count).join("/"));
  const marked = above.filter((directory) =>
    spec.markers.some((marker) => workspace.hashAt(tree, directory === "" ? marker : `${directory}/${marker}`) !== undefined),
  );
  return (spec.folder === "topmost" ? marked[0] : marked.at(-1)) ?? "";
}
