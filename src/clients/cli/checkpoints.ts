import type { JsonObject } from "../sdk/index.ts";
import { list, type Output, type Style, short, text, texts } from "./output.ts";
import { showLine } from "./terminal.ts";
import { shownId } from "./when.ts";

/** Paths of a checkpoint that are named in a line. */
const PATHS = 3;

/** Colour of each cause: what agents and people did, what came from outside, what took something back. */
const STYLES: { readonly [cause: string]: Style } = {
  import: "dim",
  external: "yellow",
  shell: "yellow",
  undo: "red",
  redo: "green",
  merge: "cyan",
  advance: "cyan",
};

/** A checkpoint's cause in one word. */
export function causeOf(checkpoint: JsonObject): string {
  return short(text(checkpoint, "cause"), "CAUSE_");
}

/** The style a cause is shown in. */
export function causeStyle(cause: string): Style {
  return STYLES[cause] ?? "green";
}

/** The first paths a checkpoint touched, and how many more there are. Foreign text, not safe yet. */
export function pathsOf(checkpoint: JsonObject): string {
  const paths = list(checkpoint, "paths").map((path) => text(path, "path"));
  const more = Number(text(checkpoint, "path_count")) - Math.min(paths.length, PATHS);
  return [...paths.slice(0, PATHS), ...(more > 0 ? [`+${more}`] : [])].join(" ");
}

/** "takes back ck_…": what an undo or redo reversed; "" for any other. Safe. */
export function takenBack(out: Output, checkpoint: JsonObject): string {
  const ids = texts(checkpoint, "undoes");
  if (ids.length === 0) return "";
  const named = ids.slice(0, PATHS).map((id) => showLine(shownId(out, id)));
  return `takes back ${named.join(" ")}${ids.length > PATHS ? ` +${ids.length - PATHS}` : ""}`;
}
