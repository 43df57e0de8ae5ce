import { type Caller, GinError } from "../base/index.ts";
import type { AnchorRow, AnnotationRow, Checkpoint, Content, Store } from "../store/index.ts";
import { countLines, excerpt } from "./excerpt.ts";
import type { AnchorInput } from "./types.ts";

/** An anchor checked against the content its checkpoint holds, with its lines. Throws what `Annotations.write` says. */
export function checkAnchor(
  store: Pick<Store, "read" | "trees">,
  checkpoint: Checkpoint,
  anchor: AnchorInput,
  index: number,
): AnchorRow {
  const { path, startLine, endLine } = anchor;
  const content = contentAt(store, checkpoint, path);
  if (anchor.sha256 !== undefined && anchor.sha256 !== content.sha256) {
    throw new GinError(
      "STALE_CONTENT",
      `${path} holds another content at that checkpoint`,
      "read it again and anchor what is there",
      {
        facts: { paths: [{ path, current_sha256: content.sha256, checkpoint: checkpoint.id }] },
      },
    );
  }
  const row = { path, startLine, endLine, sha256: content.sha256 };
  if (startLine === 0) return { ...row, text: "" };
  const bytes = store.read.object(content.sha256);
  if (bytes === undefined) {
    throw new GinError("CONTENT_NOT_KEPT", `the bytes ${path} had then are not kept`, "anchor the whole file", {
      facts: { path, sha256: content.sha256 },
    });
  }
  const lines = bytes.includes(0) ? 0 : countLines(bytes);
  if (endLine > lines) {
    const why = lines === 0 ? "the file has no lines" : `the file has ${lines} lines`;
    throw invalid(`anchors[${index}].end_line`, why);
  }
  return { ...row, text: excerpt(bytes, startLine, endLine) };
}

function contentAt({ trees }: Pick<Store, "trees">, checkpoint: Checkpoint, path: string): Content {
  const content = trees.get(checkpoint.tree, path);
  if (content?.kind === "file") return content;
  if (content === null && trees.list(checkpoint.tree, path) === undefined) {
    throw new GinError("PATH_NOT_FOUND", `nothing is at ${path} in that checkpoint`, undefined, { facts: { path } });
  }
  const kind = content?.kind ?? "directory";
  throw new GinError("NOT_A_FILE", `${path} is a ${kind}: only files are anchored`, undefined, { facts: { path, kind } });
}

/** The annotation that is answered or corrected, when this caller may do so. */
export function checkParent(
  parent: AnnotationRow | undefined,
  how: { readonly field: "reply_to" | "corrects"; readonly id: string; readonly workspace: number; readonly caller: Caller },
): AnnotationRow {
  const { field, id, workspace, caller } = how;
  if (parent === undefined || parent.workspace !== workspace) {
    throw new GinError("ID_NOT_FOUND", "no such annotation in this workspace", undefined, {
      facts: { id: id.slice(0, 128), field },
    });
  }
  if (field === "corrects" && parent.principal !== caller.principal) {
    throw new GinError(
      "SCOPE_FORBIDDEN",
      "an annotation is corrected by the principal that wrote it",
      "answer it with reply_to",
      {
        facts: { scope: "annotate" },
      },
    );
  }
  return parent;
}

function invalid(field: string, message: string): GinError {
  return new GinError("INVALID_REQUEST", `${field}: ${message}`, undefined, { facts: { field } });
}
