import { errnoOf, GinError } from "../base/index.ts";
import { ancestors, type Lingering, type Rescued } from "./apply.ts";
import { contentOf } from "./content.ts";
import type { WorkspaceDeps } from "./deps.ts";
import { CHANGE_BYTES } from "./limits.ts";

/** First wait before a displaced file is looked at again, in milliseconds; doubled while somebody has it open. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 300_000;
/** The only wait where the system does not tell who has a file open: long enough for a writer on a busy machine. */
const GRACE_MS = 3_000;

/** A save whose journal stays for the sake of files it displaced, and the paths it changed. */
export interface HeldSave {
  readonly id: string;
  readonly paths: readonly string[];
}

/** A file under watch. `waitMs`: from the look before to the next. */
interface Watched {
  readonly file: Lingering;
  /** Saves it may have been displaced by; none once the store has a row of the file. */
  readonly saves: readonly string[];
  readonly waitMs: number;
  readonly dueMs: number;
}

/** What a look came to. Nothing is let go before `settle` is called, which is when what it found is recorded. */
export interface Look {
  readonly late: readonly Rescued[];
  /** Lets go of what nobody has open. What cannot be removed stays; rejects when the store refuses, and then nothing is forgotten either. */
  settle(): Promise<void>;
  /** It could not be recorded: everything stays, to be looked at again after a longer wait. */
  giveUp(): void;
}

/**
 * Displaced files somebody may still be writing to. An editor that opened a file before a save took its place writes on into
 * the displaced one; it is kept under its temp name until nobody has it open, and what was written is recorded. A file that
 * stays open after its first look is also a row in the store, so that its save's journal may go and a recovery finds it.
 * States of a file: watched ⇄ looked at → let go.
 */
export class LateWriters {
  readonly #deps: WorkspaceDeps;
  readonly #due: () => void;
  readonly #free: (save: HeldSave) => void;
  #watched: Watched[] = [];
  /** Journals that stay until their files were looked at once. */
  readonly #held = new Map<string, HeldSave>();
  #timer: (() => void) | undefined;
  /** Files ever given to watch. */
  added = 0;

  /** `due` asks for a turn in which `look` may run; `free` hears of each save whose journal may go. */
  constructor(deps: WorkspaceDeps, due: () => void, free: (save: HeldSave) => void) {
    this.#deps = deps;
    this.#due = due;
    this.#free = free;
  }

  /** Files under watch. */
  get size(): number {
    return this.#watched.length;
  }

  /** Watches files; each of `saves` is freed once they were looked at. */
  add(files: readonly Lingering[], saves: readonly HeldSave[] = []): void {
    const ids = saves.map((save) => save.id);
    for (const file of files) this.#watch(file, ids, file.writers === "unknown" ? GRACE_MS : FIRST_WAIT_MS);
    this.added += files.length;
    for (const save of saves) this.#held.set(save.id, save);
    this.#schedule();
    this.#release();
  }

  /** Looks at every file that is due, or at all of them. */
  look(all: boolean): Look {
    this.#stop();
    const now = this.#deps.clock.monotonicMs();
    const due = this.#watched.filter((one) => all || one.dueMs <= now);
    this.#watched = this.#watched.filter((one) => !due.includes(one));
    const late: Rescued[] = [];
    const quiet: Watched[] = [];
    const open: Watched[] = [];
    for (const one of due) {
      const found = lookAgain(this.#deps, one.file);
      if (found === "gone") quiet.push(one);
      else if (found === "unseen") open.push(one);
      else {
        if (found.rescued !== undefined) late.push(found.rescued);
        const { seen, writers } = found;
        (writers === "some" ? open : quiet).push({ ...one, file: { ...one.file, seen, writers } });
      }
    }
    return {
      late,
      settle: () => this.#settle(quiet, open),
      giveUp: () => this.#later(due),
    };
  }

  /** No more looks; what is still open keeps its temp and its row for the next start. */
  close(): void {
    this.#stop();
  }

  async #settle(quiet: readonly Watched[], open: readonly Watched[]): Promise<void> {
    const { store, row } = this.#deps;
    const gone = quiet.filter(({ file }) => this.#discard(file));
    const stay = [...open, ...quiet.filter((one) => !gone.includes(one))];
    const kept = stay.filter(({ file }) => file.noted !== true).map(({ file: { temp, path } }) => ({ temp, path }));
    const rows = gone.filter(({ file }) => file.noted === true).map(({ file }) => file.temp);
    try {
      if (kept.length + rows.length > 0) await store.write("linger", { workspace: row.rowid, kept, gone: rows });
    } catch (thrown) {
      this.#later([...stay, ...gone]);
      throw thrown;
    }
    this.#later(stay.map((one) => ({ ...one, file: { ...one.file, noted: true }, saves: [] })));
    this.#release();
  }

  /** False when the file system refuses, which may be for a while only. */
  #discard({ temp, path }: Lingering): boolean {
    const { root, log } = this.#deps;
    try {
      root.discard(temp);
      // A removal could not take its directories along while the temp was in them.
      root.removeMade(ancestors(path));
      return true;
    } catch (thrown) {
      log.warn({ path, errno: errnoOf(thrown) }, "a displaced file could not be removed; it is tried again");
      return false;
    }
  }

  /** Watches on, with twice the wait: what fails now is not asked for all the time. */
  #later(files: readonly Watched[]): void {
    for (const { file, saves, waitMs } of files) this.#watch(file, saves, Math.min(waitMs * 2, LONGEST_WAIT_MS));
    this.#schedule();
  }

  /** Frees the saves that no file needs any more. */
  #release(): void {
    for (const save of [...this.#held.values()]) {
      if (this.#watched.some((one) => one.saves.includes(save.id))) continue;
      this.#held.delete(save.id);
      this.#free(save);
    }
  }

  #watch(file: Lingering, saves: readonly string[], waitMs: number): void {
    this.#watched.push({ file, saves, waitMs, dueMs: this.#deps.clock.monotonicMs() + waitMs });
  }

  #schedule(): void {
    this.#stop();
    if (this.#watched.length === 0) return;
    const { clock } = this.#deps;
    const next = this.#watched.reduce((least, one) => Math.min(least, one.dueMs), Number.POSITIVE_INFINITY);
    this.#timer = clock.after(Math.max(1, Math.ceil(next - clock.monotonicMs())), () => {
      this.#timer = undefined;
      this.#due();
    });
  }

  #stop(): void {
    this.#timer?.();
    this.#timer = undefined;
  }
}

type Found = "gone" | "unseen" | (Pick<Lingering, "seen" | "writers"> & { readonly rescued: Rescued | undefined });

/** Asks who has the file open, and only then reads it: with nobody left, what is read is all there will be. */
function lookAgain({ root, store, log }: WorkspaceDeps, { path, temp, seen }: Lingering): Found {
  try {
    const writers = root.writers(temp);
    const { bytes, stat } = root.readTemp(temp, CHANGE_BYTES);
    const content = contentOf(bytes, stat);
    // Seen is not recorded: that may have been refused.
    const recorded = (seen === undefined || seen === content.sha256) && store.read.hasObject(content.sha256);
    const rescued = recorded ? undefined : { path, content, bytes };
    return { seen: content.sha256, writers, rescued };
  } catch (thrown) {
    if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return "gone";
    log.warn({ path, errno: errnoOf(thrown) }, "a displaced file could not be looked at; it is kept");
    return "unseen";
  }
}
