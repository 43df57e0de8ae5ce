import { GinError, type Json } from "../../base/index.ts";
import type { EditInput } from "../../workspace/index.ts";
import { type EditTarget, openTarget, Room } from "../edit/target.ts";
import { toolPath } from "../files/path.ts";
import type { ReadContext } from "../types.ts";

/** A path while a patch is carried out. */
export interface Work {
  /** Canonical. */
  readonly path: string;
  /** What the call found there; undefined for nothing. */
  readonly found: EditTarget | undefined;
  /** What is there now; null for nothing. */
  now: Buffer | null;
  /** Canonical path it was moved from, if it was. */
  from: string | undefined;
}

/** What became of a path, in the end. */
export interface Result {
  readonly path: string;
  readonly op: "add" | "update" | "delete" | "move";
  /** Of a move. */
  readonly from?: string;
  /** What was there (of a move: at `from`) and what is there now; null for nothing. */
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly target: EditTarget | undefined;
}

/** The files a patch works on: each is read once, and sections that speak of one file see what the ones before made of it. */
export class PatchBench {
  readonly #context: ReadContext;
  /** By canonical path. */
  readonly #checksums: ReadonlyMap<string, string>;
  readonly #works = new Map<string, Work>();
  readonly #room = new Room();

  constructor(context: ReadContext, checksums: ReadonlyMap<string, string>) {
    this.#context = context;
    this.#checksums = checksums;
  }

  /** A file that must be there. Throws PATH_NOT_FOUND, STALE_CONTENT. */
  async present(asked: string, itself: boolean): Promise<Work & { now: Buffer }> {
    const work = await this.#open(asked);
    if (work.now === null) {
      throw new GinError("PATH_NOT_FOUND", `nothing is at ${work.path}`, undefined, { facts: { path: work.path } });
    }
    if (itself) this.#refuseLink(asked, work.path);
    return work as Work & { now: Buffer };
  }

  /** A name that must be free. Throws STALE_CONTENT for one that is taken. */
  async absent(asked: string): Promise<Work> {
    const work = await this.#open(asked);
    if (work.now === null) return work;
    const facts: { [key: string]: Json } = { path: work.path, merge: "conflict" };
    if (work.found !== undefined) facts.current_sha256 = work.found.current.sha256;
    throw new GinError("STALE_CONTENT", `${work.path} is there already`, "update it, or delete it first", {
      facts: { paths: [facts], path_count: 1 },
    });
  }

  /** Everything that differs from what was found, in the order the patch first names it. */
  results(): Result[] {
    const results: Result[] = [];
    for (const { path, found, now, from } of this.#works.values()) {
      const source = from === undefined ? undefined : this.#works.get(from);
      if (now !== null && source?.found !== undefined && source.now === null) {
        results.push({ path, op: "move", from: source.path, before: source.found.bytes, after: now, target: source.found });
        continue;
      }
      const before = found?.bytes ?? null;
      if (now === null && before !== null && !this.#movedAway(path))
        results.push({ path, op: "delete", before, after: null, target: found });
      else if (now !== null && before === null) results.push({ path, op: "add", before, after: now, target: found });
      else if (now !== null && before !== null && !now.equals(before))
        results.push({ path, op: "update", before, after: now, target: found });
    }
    return results;
  }

  /** The edits of the save that does it. */
  edits(results: readonly Result[]): EditInput[] {
    return results.flatMap(({ path, op, from, before, after, target }): EditInput[] => {
      const expect = target?.sha256 ?? "absent";
      if (op === "delete") return [{ path, expect, delete: true }];
      if (op !== "move" || from === undefined) return [{ path, expect, content: after ?? Buffer.alloc(0) }];
      const content = after === null || before?.equals(after) === true ? {} : { content: after };
      const move: EditInput = { path: from, expect, renameTo: path, ...content };
      // What stood at the name it goes to was deleted or moved by the same patch.
      const stood = this.#works.get(path)?.found;
      return stood === undefined || this.#movedAway(path) ? [move] : [{ path, expect: stood.sha256, delete: true }, move];
    });
  }

  #movedAway(path: string): boolean {
    return (
      this.#works.get(path)?.now === null && [...this.#works.values()].some((work) => work.from === path && work.now !== null)
    );
  }

  async #open(asked: string): Promise<Work> {
    const path = this.#context.workspace.canonical(toolPath(asked));
    const known = this.#works.get(path);
    if (known !== undefined) return known;
    const found = await openTarget(this.#context, asked, this.#checksums.get(path)).catch((thrown: unknown) => {
      if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return undefined;
      throw thrown;
    });
    if (found !== undefined) this.#room.take(found);
    const work: Work = { path, found, now: found?.bytes ?? null, from: undefined };
    this.#works.set(path, work);
    return work;
  }

  /** Taking a link away, or giving it another name, would be done to what it leads to. */
  #refuseLink(asked: string, path: string): void {
    const plain = toolPath(asked);
    const cut = plain.lastIndexOf("/");
    const parent = cut < 0 ? "" : this.#context.workspace.canonical(plain.slice(0, cut));
    const name = plain.slice(cut + 1);
    if ((parent === "" ? name : `${parent}/${name}`) === path) return;
    throw new GinError("NOT_A_FILE", `${plain} is a symlink`, "name the file it leads to", {
      facts: { path: plain, kind: "symlink" },
    });
  }
}
