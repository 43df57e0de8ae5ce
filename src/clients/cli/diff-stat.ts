import type { JsonObject } from "../sdk/index.ts";
import { bytes, type Output, short, text } from "./output.ts";
import { quoteName } from "./quote-name.ts";
import { pad, showLine, width } from "./terminal.ts";

/** Most signs of a bar. */
const BAR = 40;
/** Longest name shown whole; of a longer one its end, which tells files apart. */
const NAME = 60;

const WHY: { readonly [reason: string]: string } = {
  binary: "binary",
  not_utf8: "not UTF-8",
  content_not_kept: "its content is not kept",
  too_large: "too large to compare by lines",
};

/** Why a file has no patch, with what is known of it. */
export function whyNoPatch(file: JsonObject): string {
  const reason = text(file, "no_patch");
  const size = (side: string) => (text(file, `${side}_sha256`) === "" ? "nothing" : bytes(text(file, `${side}_size`)));
  return `${WHY[reason] ?? reason}, ${size("old")} → ${size("new")}`;
}

/** Collects files and shows them at the end: a name, what changed, a bar, and a line of sums. */
export class DiffStat {
  readonly #out: Output;
  readonly #files: JsonObject[] = [];

  constructor(out: Output) {
    this.#out = out;
  }

  add(file: JsonObject): void {
    this.#files.push(file);
  }

  end(): void {
    const out = this.#out;
    if (this.#files.length === 0) return;
    const names = this.#files.map(nameOf);
    const widest = Math.max(...names.map(width));
    const counts = this.#files.map((file) => Number(text(file, "added_lines")) + Number(text(file, "removed_lines")));
    const most = Math.max(...counts);
    const digits = String(most).length;
    this.#files.forEach((file, at) => {
      const name = pad(names[at] ?? "", widest);
      out.line(`${name} ${out.style("dim", "|")} ${this.#change(file, counts[at] ?? 0, most, digits)}`);
    });
    const sum = (field: string) => this.#files.reduce((total, file) => total + Number(text(file, field)), 0);
    const files = `${this.#files.length} ${this.#files.length === 1 ? "file" : "files"} changed`;
    out.line(`${files}, ${sum("added_lines")} added, ${sum("removed_lines")} removed`);
  }

  #change(file: JsonObject, count: number, most: number, digits: number): string {
    const out = this.#out;
    if (text(file, "no_patch") !== "") return whyNoPatch(file);
    const notes: string[] = [];
    const status = short(text(file, "status"), "DIFF_STATUS_");
    if (status !== "modified") notes.push(status);
    if (file.old_executable !== file.new_executable && text(file, "old_sha256") !== "" && text(file, "new_sha256") !== "") {
      notes.push(file.new_executable === true ? "+x" : "-x");
    }
    // Each side that changed at all shows at least one sign.
    const signs = (lines: number) => (lines === 0 ? 0 : Math.max(1, Math.round((lines * Math.min(BAR, most)) / most)));
    const bar =
      out.style("green", "+".repeat(signs(Number(text(file, "added_lines"))))) +
      out.style("red", "-".repeat(signs(Number(text(file, "removed_lines")))));
    const note = notes.length === 0 ? "" : out.style("dim", ` ${notes.join(" ")}`);
    return `${String(count).padStart(digits)} ${bar}${note}`.trimEnd();
  }
}

function nameOf(file: JsonObject): string {
  const old = text(file, "old_path");
  const path = showLine(quoteName(text(file, "path")));
  const name = old === "" ? path : `${showLine(quoteName(old))} → ${path}`;
  const characters = [...name];
  return characters.length <= NAME ? name : `…${characters.slice(1 - NAME).join("")}`;
}
