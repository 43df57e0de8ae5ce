import type { Edit, SaveRequest } from "../../../gen/gin/v1/save_pb.ts";
import { type Caller, GinError } from "../../base/index.ts";
import type { EditInput } from "../../workspace/index.ts";
import { checkSize, invalid, isHash, utf8Bytes } from "../limits.ts";

/**
 * The edits of a save, checked for form: their number, exactly one change each, spelling of hashes, and `expect` everywhere
 * unless a generation says what is expected. What they mean for the files is the engine's to judge.
 */
export function editsOf(request: SaveRequest, caller: Caller): EditInput[] {
  checkSize("save_edits", request.edits.length, "edits");
  if (request.edits.length === 0) throw invalid("edits", "a save needs at least one edit");
  checkSize("save_message_bytes", utf8Bytes(request.message), "message");
  return request.edits.map((edit, index) => editOf(edit, `edits[${index}]`, request.generation !== undefined, caller));
}

function editOf(edit: Edit, at: string, expectOptional: boolean, caller: Caller): EditInput {
  if (edit.path === "") throw invalid(`${at}.path`, "must name a path");
  if (edit.expect === undefined && !expectOptional) {
    throw invalid(`${at}.expect`, 'is needed when no generation is given: the SHA-256 you read, or "absent"');
  }
  if (edit.expect !== undefined && edit.expect !== "absent" && !isHash(edit.expect)) {
    throw invalid(`${at}.expect`, 'must be a SHA-256 in lower-case hex, or "absent"');
  }
  checkChanges(edit, at);
  if (edit.link !== undefined && !caller.scopes.has("admin")) {
    throw new GinError("SCOPE_FORBIDDEN", "only the owner makes symlinks", undefined, { facts: { scope: "admin" } });
  }
  const content = contentOf(edit);
  return {
    path: edit.path,
    ...(edit.expect === undefined ? {} : { expect: edit.expect }),
    ...(content === undefined ? {} : { content }),
    ...(edit.link === undefined ? {} : { link: edit.link }),
    ...(edit.delete ? { delete: true } : {}),
    ...(edit.renameTo === "" ? {} : { renameTo: edit.renameTo }),
    ...(edit.executable === undefined ? {} : { executable: edit.executable }),
  };
}

/** Exactly one of the five contents or deletion; a rename may bring content along; the executable bit may stand alone. */
function checkChanges(edit: Edit, at: string): void {
  if (edit.object !== undefined) {
    throw new GinError("UNSUPPORTED", `${at}.object: uploads are not part of this version`, "send text or data", {
      facts: { requested: "object", supported: "text, data" },
    });
  }
  const changes = [edit.text, edit.data, edit.link].filter((one) => one !== undefined).length + (edit.delete ? 1 : 0);
  if (changes > 1) throw invalid(at, "only one of text, data, object, link and delete may be given");
  const renames = edit.renameTo !== "";
  if (renames && (edit.delete || edit.link !== undefined)) throw invalid(`${at}.rename_to`, "may be joined by text or data only");
  if (edit.executable !== undefined && (edit.delete || edit.link !== undefined)) {
    throw invalid(`${at}.executable`, "says nothing of a deletion or a symlink");
  }
  if (changes === 0 && !renames && edit.executable === undefined) throw invalid(at, "changes nothing");
  if (edit.link === "") throw invalid(`${at}.link`, "must name a target");
}

function contentOf(edit: Edit): Uint8Array | undefined {
  return edit.text === undefined ? edit.data : Buffer.from(edit.text, "utf8");
}
