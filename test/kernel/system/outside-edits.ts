import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Finished, runCommand } from "../../helpers/process.ts";
import type { Chance } from "../../helpers/random.ts";
import { sha } from "./patient.ts";
import { git } from "./real-tree.ts";

/** Ways in which people and tools edit beside gin. */
export const EDITORS = ["vim -es", "sed -i", "git checkout --", "truncate and write", "write then rename"] as const;

/** One of them. */
export type Editor = (typeof EDITORS)[number];

/** How often in a row an editor may find its file gone under it. */
const MOST_GIVE_UPS = 50;

/** One edit that an outside editor finished: its exact bytes, which nobody else ever wrote. */
export interface OutsideEdit {
  readonly editor: Editor;
  readonly path: string;
  readonly sha256: string;
  /**
   * What became of it. `last`: no outside edit of the path came after it. `overwritten`: it was still there when the next outside edit
   * began, which replaced it. `displaced`: it was not there any more by then; only gin can have taken its place, and must have kept it.
   */
  fate: "last" | "overwritten" | "displaced";
}

/** Edits files of a tree as others do, one editor at a time on each path, and remembers every finished edit. */
export class OutsideEditors {
  readonly edits: OutsideEdit[] = [];
  readonly #tree: string;
  readonly #scratch: string;
  readonly #random: Chance;
  readonly #last = new Map<string, OutsideEdit>();
  readonly #busy = new Set<string>();
  #tokens = 0;
  /** What the last editor said that gave up. */
  #said = "";

  /** `scratch` is a directory on the same file system, outside the tree. */
  constructor(tree: string, scratch: string, random: Chance) {
    this.#tree = tree;
    this.#scratch = scratch;
    this.#random = random;
  }

  /** Edits one of these paths, another one when somebody else is at the first; tries again when the editor itself gave up, until `stopped`. */
  async edit(editor: Editor, paths: readonly string[], stopped: () => boolean): Promise<void> {
    for (let gaveUp = 0; !stopped(); ) {
      const path = this.#random.pick(paths);
      if (this.#busy.has(path)) {
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      this.#busy.add(path);
      try {
        this.#judgeLast(path);
        const token = `outside edit ${++this.#tokens} ${this.#random.int(2 ** 30)}`;
        const bytes = await this.#run(editor, path, token);
        // An editor that gave up may have taken the file away before it did: the path has no last edit then.
        if (bytes === undefined) {
          if (++gaveUp > MOST_GIVE_UPS) throw new Error(`${editor} gives up again and again: ${this.#said}`);
          continue;
        }
        if (!bytes.includes(token)) throw new Error(`${editor} wrote something else than it was told`);
        const done: OutsideEdit = { editor, path, sha256: sha(bytes), fate: "last" };
        this.#last.set(path, done);
        this.edits.push(done);
        return;
      } finally {
        this.#busy.delete(path);
      }
    }
  }

  /** Decides what became of the path's last edit, right before another editor touches it. */
  #judgeLast(path: string): void {
    const last = this.#last.get(path);
    if (last === undefined) return;
    this.#last.delete(path);
    last.fate = hashOf(join(this.#tree, path)) === last.sha256 ? "overwritten" : "displaced";
  }

  /** The bytes that were written; undefined when the editor gave up because the file was replaced under it. */
  async #run(editor: Editor, path: string, token: string): Promise<Buffer | undefined> {
    const file = join(this.#tree, path);
    const copy = join(this.#scratch, token.replaceAll(" ", "-"));
    switch (editor) {
      case "vim -es": {
        const change = ["-c", `call setline(1, "${token}")`, "-c", `silent w! ${copy}`, "-c", "w!", "-c", "qa!"];
        // It asks before it writes over a file that has changed since it was read: yes. An end of input would leave it waiting.
        const done = await runCommand("vim", ["-es", "-N", "-u", "NONE", "-i", "NONE", "-n", ...change, file], {
          input: "y\n".repeat(8),
        });
        return this.#finished(done) ? readFileSync(copy) : undefined;
      }
      case "sed -i": {
        const done = await runCommand("sed", ["-i", "-e", `1s/.*/${token}/`, "-e", `w ${copy}`, file]);
        return this.#finished(done) ? readFileSync(copy) : undefined;
      }
      case "git checkout --": {
        const text = this.#edited(file, token);
        if (text === undefined) return undefined;
        const blob = (await git(this.#tree, ["hash-object", "-w", "--stdin"], text)).trim();
        await git(this.#tree, ["update-index", "--cacheinfo", `100644,${blob},${path}`]);
        const done = await runCommand("git", ["checkout", "-q", "--", path], { cwd: this.#tree });
        return this.#finished(done) ? Buffer.from(text) : undefined;
      }
      case "truncate and write": {
        const text = this.#edited(file, token);
        if (text === undefined) return undefined;
        const fd = openSync(file, "w");
        // In two pieces with a breath between them, as a program that prints does.
        const bytes = Buffer.from(text);
        const half = bytes.byteLength >> 1;
        writeSync(fd, bytes, 0, half);
        await new Promise((resolve) => setTimeout(resolve, this.#random.int(3)));
        writeSync(fd, bytes, half);
        closeSync(fd);
        return bytes;
      }
      case "write then rename": {
        const text = this.#edited(file, token);
        if (text === undefined) return undefined;
        writeFileSync(copy, text);
        renameSync(copy, file);
        return Buffer.from(text);
      }
    }
  }

  #finished(done: Finished): boolean {
    if (done.code !== 0) this.#said = `${done.signal ?? done.code} ${done.stderr}`;
    return done.code === 0;
  }

  /** The file's text with another first line; undefined in the moment it is not there. */
  #edited(file: string, token: string): string | undefined {
    const text = bytesOf(file)?.toString("utf8");
    return text === undefined ? undefined : [token, ...text.split("\n").slice(1)].join("\n");
  }
}

/** Bytes of a file; undefined when nothing is there. */
export function bytesOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    return undefined;
  }
}

/** SHA-256 of a file; undefined when nothing is there. */
export function hashOf(file: string): string | undefined {
  const bytes = bytesOf(file);
  return bytes === undefined ? undefined : sha(bytes);
}
