import type { Hosted } from "./api/index.ts";
import { GinError } from "./base/index.ts";
import { type LspWorkspace, TEXT_BYTES, TOUCHED_PATHS } from "./lsp/index.ts";
import type { Store } from "./store/index.ts";
import type { Workspace } from "./workspace/index.ts";

/** An open workspace as the language servers see it: its actor for what is on disk, the store for what is recorded. */
export function lspWorkspace(store: Store, hosted: Hosted, workspace: Workspace): LspWorkspace {
  const { trees, read } = store;
  return {
    rowid: hosted.rowid,
    id: hosted.id,
    root: workspace.root,
    trusted: hosted.trusted,
    settle: (signal) => workspace.settle(signal),
    tree: () => workspace.tree(),
    base: () => read.checkpoint(read.workspace(hosted.rowid)?.base ?? "")?.tree,
    changes: (from, to) => trees.diff(from, to, ""),
    hashAt(tree, path) {
      const content = trees.get(tree, path);
      return content?.kind === "file" ? content.sha256 : undefined;
    },
    *files(tree, prefix) {
      for (const { path, content } of trees.walk(tree, prefix)) if (content.kind === "file") yield path;
    },
    *links(tree) {
      for (const { path, content } of trees.walk(tree, "")) if (content.kind === "symlink") yield path;
    },
    bytes(sha256) {
      const bytes = read.object(sha256);
      return bytes === undefined || bytes.byteLength > TEXT_BYTES ? undefined : bytes;
    },
    read: (path, signal) => readFile(workspace, path, signal),
    canonical: (path) => workspace.canonical(path),
    scope: (run) => workspace.scope(run),
    touched(checkpoint) {
      const facts = { id: checkpoint.slice(0, 128) };
      if (read.checkpoint(checkpoint)?.workspace !== hosted.rowid)
        throw new GinError("ID_NOT_FOUND", "no such checkpoint in this workspace", "gin log lists them", { facts });
      const { paths, count } = read.touched(checkpoint, 0, TOUCHED_PATHS);
      if (count <= TOUCHED_PATHS) return paths.map(({ path }) => path);
      throw new GinError("TOO_LARGE", `the checkpoint touched ${count} files`, "name those that are meant in paths", {
        facts: { limit: TOUCHED_PATHS, unit: "entries" },
      });
    },
    onChange: (listener) => workspace.onChange(listener),
  };
}

async function readFile(workspace: Workspace, path: string, signal: AbortSignal | undefined) {
  const seen = await workspace.readHead(path, {
    // Who asks is authorised by the room, which also reads for itself.
    authorise: () => {},
    content: true,
    ...(signal === undefined ? {} : { signal }),
  });
  if (seen.kind === "large") seen.close();
  if (seen.kind === "large" || (seen.kind === "file" && seen.bytes.byteLength > TEXT_BYTES)) {
    throw new GinError("TOO_LARGE", `${seen.path} is larger than language servers are told of`, undefined, {
      facts: { path: seen.path, limit: TEXT_BYTES, unit: "bytes" },
    });
  }
  if (seen.kind !== "file") {
    throw new GinError("NOT_A_FILE", `${seen.path} is no file`, undefined, { facts: { path: seen.path, kind: seen.kind } });
  }
  return { path: seen.path, sha256: seen.content.sha256, bytes: seen.bytes };
}
