import { type Caller, type Clock, GinError, type Log, Pace, type Random } from "../base/index.ts";
import type { AnnotationQuery, AnnotationRow, Store } from "../store/index.ts";
import { checkAnchor, checkParent } from "./check.ts";
import type { Annotation, AnnotationPage, Annotations, LineFollower, ListQuery, PlacedAnchor, WriteInput } from "./types.ts";
import { type MayTouch, maySee } from "./visibility.ts";

/** What annotations stand on. */
export interface AnnotationsParts {
  readonly store: Pick<Store, "read" | "trees" | "write">;
  readonly lines: LineFollower;
  readonly mayTouch: MayTouch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Rows looked at in one go while a page is filled: those a caller may not see are passed over. */
const BATCH = 200;
/** What an annotation takes of a page beside its text, and an anchor beside its paths and its lines. */
const NOTE_BYTES = 200;
const ANCHOR_BYTES = 150;

/** Makes the annotations of a daemon's workspaces. */
export function createAnnotations(parts: AnnotationsParts): Annotations {
  return new StoredAnnotations(parts);
}

class StoredAnnotations implements Annotations {
  readonly #parts: AnnotationsParts;
  readonly #listeners = new Set<(written: AnnotationRow) => void>();

  constructor(parts: AnnotationsParts) {
    this.#parts = parts;
  }

  async write(input: WriteInput): Promise<AnnotationRow> {
    const { store, random, clock } = this.#parts;
    const { workspace, caller, requestId, text, replyTo, corrects, evidenceId } = input;
    const checkpoint = store.read.checkpoint(input.checkpoint);
    if (checkpoint === undefined || checkpoint.workspace !== workspace) {
      throw new GinError("ID_NOT_FOUND", "no such checkpoint in this workspace", undefined, {
        facts: { id: input.checkpoint.slice(0, 128) },
      });
    }
    const field = replyTo === "" ? "corrects" : "reply_to";
    const id = replyTo || corrects;
    const parent = id === "" ? undefined : checkParent(this.find(id, caller), { field, id, workspace, caller });
    const anchors = input.anchors.map((anchor, index) => checkAnchor(store, checkpoint, anchor, index));
    const own = random.id("an");
    const annotation: AnnotationRow = {
      seq: 0,
      id: own,
      workspace,
      checkpoint: checkpoint.id,
      principal: caller.principal,
      requestId,
      text,
      thread: parent?.thread ?? own,
      replyTo,
      corrects,
      evidenceId,
      timeMs: clock.wallMs(),
      anchors,
    };
    const { seq } = await store.write("annotation.write", { annotation, request: input.remember(annotation) });
    const written = { ...annotation, seq };
    for (const listener of this.#listeners) {
      try {
        listener(written);
      } catch (thrown) {
        // It is written: who fails to hear of it cannot undo that.
        this.#parts.log.warn({ err: thrown }, "a listener failed over an annotation");
      }
    }
    return written;
  }

  async list(query: ListQuery): Promise<AnnotationPage> {
    const { read } = this.#parts.store;
    const { caller, path, limit, maxBytes, generation, signal } = query;
    const asked = this.#asked(query);
    const found: Annotation[] = [];
    let bytes = 0;
    let after = query.after;
    const pace = new Pace(this.#parts.clock, signal);
    for (;;) {
      const rows = read.annotations({ ...asked, ...(after === undefined ? {} : { after }), limit: Math.min(BATCH, limit + 1) });
      for (const row of rows) {
        await pace.next();
        if (!this.#maySee(caller, row)) {
          after = row.seq;
          continue;
        }
        if (found.length === limit || bytes >= maxBytes) return { annotations: found, next: after };
        const shown = await this.#shown(row, caller, generation, signal);
        if (path === undefined || shown.anchors.some((one) => isOn(one, path))) {
          found.push(shown);
          bytes += sizeOf(shown);
        }
        after = row.seq;
      }
      if (rows.length < Math.min(BATCH, limit + 1)) return { annotations: found, next: undefined };
    }
  }

  async present(row: AnnotationRow, caller: Caller, generation: number, signal?: AbortSignal): Promise<Annotation | undefined> {
    return this.#maySee(caller, row) ? this.#shown(row, caller, generation, signal) : undefined;
  }

  find(id: string, caller: Caller): AnnotationRow | undefined {
    const row = this.#parts.store.read.annotation(id);
    return row !== undefined && this.#maySee(caller, row) ? row : undefined;
  }

  onWrite(listener: (written: AnnotationRow) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #asked({ workspace, caller, checkpoint, path, thread }: ListQuery): Omit<AnnotationQuery, "after" | "limit"> {
    if (checkpoint !== undefined) return { workspace, checkpoint };
    if (path !== undefined) return { workspace, path };
    if (thread === undefined) return { workspace };
    const any = this.find(thread, caller);
    if (any === undefined || any.workspace !== workspace) {
      throw new GinError("ID_NOT_FOUND", "no such annotation in this workspace", undefined, {
        facts: { id: thread.slice(0, 128) },
      });
    }
    return { workspace, thread: any.thread, ascending: true };
  }

  #maySee(caller: Caller, row: AnnotationRow): boolean {
    return maySee(this.#parts.store.read, this.#parts.mayTouch, caller, row);
  }

  async #shown(row: AnnotationRow, caller: Caller, generation: number, signal?: AbortSignal): Promise<Annotation> {
    const { store, mayTouch } = this.#parts;
    const from = store.read.checkpoint(row.checkpoint)?.generation;
    const anchors: PlacedAnchor[] = [];
    for (const anchor of row.anchors) {
      if (!mayTouch(caller, anchor.path)) continue;
      const { path, startLine, endLine, sha256 } = anchor;
      const lines = { workspace: row.workspace, path, startLine, endLine, sha256, generation: from ?? 0 };
      const known = from !== undefined && from <= generation;
      const now = known ? await this.#parts.lines.follow(lines, generation, signal) : UNKNOWN;
      // Lines that were carried to where this caller may not look are, to it, not there.
      anchors.push({ anchor, now: now.path === "" || mayTouch(caller, now.path) ? now : UNKNOWN });
    }
    return { row, correctedBy: store.read.correctedBy(row.id), anchors };
  }
}

const UNKNOWN = { standing: "unknown", path: "", startLine: 0, endLine: 0 } as const;

function isOn({ anchor, now }: PlacedAnchor, path: string): boolean {
  return [anchor.path, now.path].some((one) => one === path || one.startsWith(`${path}/`));
}

function sizeOf({ row, anchors }: Annotation): number {
  const sizes = anchors.map(
    ({ anchor: { path, text }, now }) => ANCHOR_BYTES + bytesOf(path) + bytesOf(text) + bytesOf(now.path),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, NOTE_BYTES + bytesOf(row.text));
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
