import { cutText, GinError } from "../../base/index.ts";
import type { Handler } from "./types.ts";

/** Bytes of a view. */
const VIEW_BYTES = 1024 * 1024;
/** Bytes of UTF-8 that a unit of UTF-16 stands for, or fewer; a power of two. */
const BYTES_A_UNIT = 4;

/** Reads a file outside that an answer named: from `line` on to `endLine`, at most a mebibyte. It is never written, and no server is asked. */
export const view: Handler = async ({ views, outside }, { workspace, view: id = "", line = 1, endLine }) => {
  const { file, name, spec } = views.viewed(workspace.rowid, id);
  const text = outside.text(file, spec, workspace.root);
  if (text === undefined) {
    throw new GinError("PATH_NOT_FOUND", `${name} is no longer there, or no longer text`, "ask for the location again");
  }
  const { text: shown, last } = linesOf(text.body, line, endLine ?? text.lines);
  const whole = line === 1 && last >= text.lines;
  const begun =
    last < line && shown !== "" ? `the beginning of line ${line} of ${text.lines}: it is too long to be shown` : undefined;
  const cut = last < Math.min(endLine ?? text.lines, text.lines);
  return {
    server: spec.id,
    serverVersion: "",
    state: "ready",
    sha256: "",
    generation: 0,
    partial: cut,
    note: whole ? "" : (begun ?? `lines ${line} to ${last} of ${text.lines}`),
    found: { kind: "view", path: name, text: shown, lines: text.lines },
  };
};

/** Whole lines from one to another, as many as there is room for; of a first one that is too long its beginning. */
function linesOf(text: string, from: number, to: number): { readonly text: string; readonly last: number } {
  let start = 0;
  for (let line = 1; line < from && start >= 0; line++) start = text.indexOf("\n", start) + 1 || -1;
  if (start < 0) return { text: "", last: to };
  let end = start;
  let bytes = 0;
  let last = from - 1;
  while (last < to && end < text.length) {
    const next = text.indexOf("\n", end) + 1 || text.length;
    bytes += Buffer.byteLength(text.slice(end, next));
    if (bytes > VIEW_BYTES) break;
    end = next;
    last += 1;
  }
  if (end === start && bytes > VIEW_BYTES) return { text: cutText(text.slice(start), VIEW_BYTES / BYTES_A_UNIT), last };
  return { text: text.slice(start, end), last };
}
