import { createHash } from "node:crypto";
import { GinError } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { EditInput } from "../../workspace/index.ts";
import { createText, TEXT_BYTES } from "../mirror/index.ts";
import type { Text } from "../mirror/types.ts";
import type { Encoding } from "../session/types.ts";
import type { EditedFile } from "../types.ts";
import { type Replacement, splice } from "./splice.ts";

/** Files one edit may touch: as many as one save takes. */
const MOST_FILES = 10_000;

/** The files an edit is drafted on. */
export interface DraftFiles {
  /** Hash of the file at a canonical path of the tree; undefined where there is none. */
  hashAt(path: string): Hash | undefined;
  /** Paths of the files below a directory. */
  below(directory: string): Iterable<string>;
  /** The text of a file of the tree; undefined when it is not text. */
  text(path: string): Promise<Text | undefined>;
  /** Whether something is on disk that the tree does not have: an ignored file. */
  ignored(path: string): Promise<boolean>;
}

/** A file that was there before. */
interface Original {
  readonly path: string;
  readonly sha256: Hash;
}

/** What a path holds as the draft stands. */
interface Held {
  /** The file it was; undefined for one that the edit makes. */
  readonly original: Original | undefined;
  /** Undefined while it is as it was. */
  readonly text: string | undefined;
  /** Of the text before. */
  readonly changes: EditedFile["changes"];
}

/** What is to be saved and what a person is shown of it, in byte order of paths. */
export interface Drafted {
  readonly edits: readonly EditInput[];
  readonly files: readonly EditedFile[];
  readonly notes: readonly string[];
}

/** An edit as it grows step by step over files that stay as they are. What cannot be made throws, and then nothing is. */
export class Draft {
  readonly #files: DraftFiles;
  readonly #encoding: Encoding;
  readonly #refuse: (message: string, path?: string) => GinError;
  /** Paths that were looked at; null for nothing there now. */
  readonly #held = new Map<string, Held | null>();
  readonly #before = new Map<string, Original | undefined>();
  readonly #notes = new Set<string>();

  constructor(files: DraftFiles, encoding: Encoding, refuse: (message: string, path?: string) => GinError) {
    this.#files = files;
    this.#encoding = encoding;
    this.#refuse = refuse;
  }

  /** Makes replacements that are all about the text as it stands now. */
  async edit(path: string, replacements: readonly Replacement[]): Promise<void> {
    const held = await this.#at(path);
    if (held === null) throw this.#refuse(`it changes ${path}, which is not there`, path);
    const { original } = held;
    const first = held.text === undefined && original !== undefined;
    const text = first ? await this.#files.text(original.path) : ofString(held.text ?? "");
    if (text === undefined) throw this.#refuse(`it changes ${path}, which is no text in UTF-8`, path);
    const made = splice(text, replacements, this.#encoding, (message) => this.#refuse(`${message} in ${path}`, path));
    // Changes may add up to nothing.
    if (made.text === text.text) return;
    if (Buffer.byteLength(made.text) > TEXT_BYTES) {
      throw new GinError("TOO_LARGE", `${path} would become larger than ${TEXT_BYTES} bytes`, undefined, {
        facts: { path, limit: TEXT_BYTES, unit: "bytes" },
      });
    }
    if (usesCrLf(text.text) && made.changes.some(({ newText }) => /(?<!\r)\n/.test(newText))) {
      this.#notes.add(`new lines in ${path} end in LF, the others in CRLF`);
    }
    const fresh = first || (original === undefined && held.text === "");
    this.#held.set(path, { original, text: made.text, changes: fresh ? made.changes : await this.#whole(original, made.text) });
  }

  async create(path: string, { overwrite, ignoreIfExists }: { overwrite: boolean; ignoreIfExists: boolean }): Promise<void> {
    if (!(await this.#vacant(path, overwrite, ignoreIfExists, "makes"))) return;
    this.#held.set(path, { original: undefined, text: "", changes: [] });
  }

  async rename(
    path: string,
    to: string,
    options: { readonly overwrite: boolean; readonly ignoreIfExists: boolean },
  ): Promise<void> {
    if (path === to) return;
    const held = await this.#at(path);
    if (held !== null) return this.#move(path, held, to, options);
    const inside = this.#inside(path);
    if (inside.length === 0) throw this.#refuse(`it renames ${path}, which is not there`, path);
    if (`${to}/`.startsWith(`${path}/`)) throw this.#refuse(`it moves ${path} into itself`, path);
    for (const one of inside) {
      const below = await this.#at(one);
      if (below !== null) await this.#move(one, below, `${to}${one.slice(path.length)}`, options);
    }
  }

  async delete(
    path: string,
    { recursive, ignoreIfNotExists }: { recursive: boolean; ignoreIfNotExists: boolean },
  ): Promise<void> {
    if ((await this.#at(path)) !== null) {
      this.#held.set(path, null);
      return;
    }
    const inside = this.#inside(path);
    if (inside.length === 0) {
      if (ignoreIfNotExists) return;
      throw this.#refuse(`it deletes ${path}, which is not there`, path);
    }
    if (!recursive) throw this.#refuse(`it deletes the directory ${path}, which is not empty`, path);
    for (const one of inside) {
      await this.#at(one);
      this.#held.set(one, null);
    }
  }

  /** What came of all steps: one edit a path, each expecting what it was worked out for. */
  done(): Drafted {
    const edits: EditInput[] = [];
    const files: EditedFile[] = [];
    const moved = new Set<string>();
    for (const [path, held] of this.#held) {
      const from = held?.original?.path;
      if (from !== undefined && from !== path) moved.add(from);
    }
    for (const path of [...this.#held.keys()].sort(byBytes)) {
      const held = this.#held.get(path) ?? null;
      const before = this.#before.get(path);
      if (held === null) {
        if (before !== undefined && !moved.has(path)) {
          edits.push({ path, expect: before.sha256, delete: true });
          files.push({ ...plain(path, before), deleted: true });
        }
        continue;
      }
      const { original, text, changes } = held;
      const content = text === undefined ? {} : { content: Buffer.from(text) };
      if (original !== undefined && original.path !== path) {
        const { path: from, sha256 } = original;
        const inPlace = this.#held.get(from);
        if (inPlace !== undefined && inPlace !== null && (inPlace.original === undefined || inPlace.original.path === from)) {
          throw this.#refuse(`it moves ${from} away and puts something else there`, from);
        }
        edits.push({ path: from, expect: sha256, renameTo: path, ...content });
        files.push({ ...plain(from, original), renamedTo: path, changes });
        // What was there makes way.
        if (before !== undefined && !moved.has(path)) edits.push({ path, expect: before.sha256, delete: true });
        continue;
      }
      if (moved.has(path)) throw this.#refuse(`it moves ${path} away and puts something else there`, path);
      if (text === undefined) continue;
      edits.push({ path, expect: before?.sha256 ?? "absent", ...content });
      files.push({ ...plain(path, before), created: before === undefined, changes });
    }
    if (edits.length > MOST_FILES) {
      const facts = { limit: MOST_FILES, unit: "files" };
      throw new GinError("TOO_LARGE", `the edit touches ${edits.length} files`, undefined, { facts });
    }
    return { edits, files, notes: [...this.#notes] };
  }

  async #move(
    path: string,
    held: Held,
    to: string,
    { overwrite, ignoreIfExists }: { overwrite: boolean; ignoreIfExists: boolean },
  ): Promise<void> {
    if (!(await this.#vacant(to, overwrite, ignoreIfExists, "renames a file to"))) return;
    this.#held.set(to, held);
    this.#held.set(path, null);
  }

  /** Whether something may be put there; false where that is to be left out. */
  async #vacant(path: string, overwrite: boolean, ignoreIfExists: boolean, does: string): Promise<boolean> {
    const held = await this.#at(path);
    if (held === null && this.#inside(path).length === 0) return true;
    if (held !== null && overwrite) return true;
    if (ignoreIfExists) return false;
    throw this.#refuse(`it ${does} ${path}, which is there already`, path);
  }

  async #at(path: string): Promise<Held | null> {
    const known = this.#held.get(path);
    if (known !== undefined) return known;
    const sha256 = this.#files.hashAt(path);
    if (sha256 === undefined && (await this.#files.ignored(path))) {
      throw this.#refuse(`${path} is an ignored file`, path);
    }
    const original = sha256 === undefined ? undefined : { path, sha256 };
    this.#before.set(path, original);
    const held = original === undefined ? null : { original, text: undefined, changes: [] };
    this.#held.set(path, held);
    return held;
  }

  /** Paths below a directory as the draft stands. */
  #inside(directory: string): readonly string[] {
    const prefix = `${directory}/`;
    const found = new Set<string>();
    for (const path of this.#files.below(directory)) {
      if (this.#held.get(path) !== null) found.add(path);
      if (found.size > MOST_FILES) throw this.#refuse(`${directory} holds more than ${MOST_FILES} files`, directory);
    }
    for (const [path, held] of this.#held) if (held !== null && path.startsWith(prefix)) found.add(path);
    return [...found].sort(byBytes);
  }

  /** One change for all of a text that was changed in turns: their places are of texts between. */
  async #whole(original: Original | undefined, newText: string): Promise<EditedFile["changes"]> {
    const text = original === undefined ? ofString("") : await this.#files.text(original.path);
    const start = { line: 1, character: 1 };
    const end = text?.fromServer({ line: 2 ** 31 - 1, character: 0 }, "utf-16") ?? start;
    return [{ span: { start, end }, newText }];
  }
}

function plain(path: string, before: Original | undefined): EditedFile {
  return { path, renamedTo: "", deleted: false, created: false, changes: [], before: before?.sha256 ?? "absent" };
}

function ofString(text: string): Text {
  return createText(text, createHash("sha256").update(text).digest("hex"));
}

function usesCrLf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
