import { GinError } from "../../base/index.ts";
import { findOld, type Match } from "./match.ts";
import { carryOut, type Place, type TextEdit } from "./one-edit.ts";
import type { EditTarget } from "./target.ts";
import { bytesOf, decoded, type FileText, fileText, textOf } from "./text.ts";

/** An edit with its place in the call. */
export interface IndexedEdit extends TextEdit {
  readonly index: number;
}

/** What became of one edit of several. */
export type Outcome =
  | { readonly kind: "done"; readonly edited: Place }
  /** The same edit, earlier in the call, took its text already. */
  | { readonly kind: "repeated"; readonly of: number };

/** One file under several edits, each of which sees what the ones before it made. */
export class FileEdits {
  readonly target: EditTarget;
  readonly #original: FileText;
  #now: FileText;
  readonly #done: IndexedEdit[] = [];
  /** Where texts stood in the file as it was at first, once each was asked for. */
  readonly #places = new Map<string, Match | undefined>();

  /** Throws BINARY_FILE. */
  constructor(target: EditTarget) {
    this.target = target;
    this.#original = fileText(target.bytes, target.path);
    this.#now = this.#original;
  }

  /** The file's text after all edits so far; undefined when it is not UTF-8. */
  get text(): string | undefined {
    return decoded(this.#now.raw);
  }

  /** The file after all edits so far. */
  get bytes(): Buffer {
    return bytesOf(this.#now.raw);
  }

  /** Carries the next edit out. Throws as `carryOut`, and EDIT_OVERLAP where an earlier edit replaced its text. */
  apply(edit: IndexedEdit): Outcome {
    try {
      const edited = carryOut(this.#now, edit, this.target.path);
      this.#now = textOf(edited.raw, this.#now.utf8);
      this.#done.push(edit);
      const { firstLine, lastLine, newLines, match } = edited;
      return { kind: "done", edited: { firstLine, lastLine, newLines, match } };
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason !== "EDIT_NOT_FOUND") throw thrown;
      const same = this.#done.find((one) => one.old === edit.old && one.replacement === edit.replacement);
      if (same !== undefined) return { kind: "repeated", of: same.index };
      const other = this.#overlapping(edit);
      throw other === undefined ? thrown : overlap(this.target.path, edit.index, other);
    }
  }

  /** Index of the earlier edit whose text, as the file was at first, reaches into this one's. */
  #overlapping(edit: TextEdit): number | undefined {
    const mine = this.#place(edit.old);
    if (mine === undefined) return undefined;
    return this.#done.find((one) => {
      const its = this.#place(one.old);
      return its !== undefined && its.start < mine.end && mine.start < its.end;
    })?.index;
  }

  #place(old: string): Match | undefined {
    if (this.#places.has(old)) return this.#places.get(old);
    const found = findOld(this.#original, old);
    const place = found.kind === "one" ? found.match : undefined;
    this.#places.set(old, place);
    return place;
  }
}

function overlap(path: string, index: number, other: number): GinError {
  return new GinError("EDIT_OVERLAP", `edits ${other} and ${index} replace the same lines of ${path}`, undefined, {
    facts: { path, index, with: other },
  });
}
