import type { Random } from "../base/index.ts";
import type { Lease, LeaseChange, LeaseChangeName } from "./types.ts";

/** Changes kept of each workspace, the newest: at least so many, at most twice as many. */
export const CHANGES_KEPT = 1_000;

/** Changes of one workspace, oldest first, and the number of the newest that was let go; 0 while none was. */
interface Kept {
  readonly changes: LeaseChange[];
  goneTo: number;
}

/**
 * What happened to leases in this daemon's life, the newest of each workspace, for whoever follows them. Nothing of it outlives the
 * daemon: a restart gives every lease its whole ttl anew, so what happened before tells nothing about now.
 */
export class Changes {
  /** Names this life: sequence numbers of another one mean nothing here. */
  readonly life: string;
  readonly #most: number;
  readonly #byWorkspace = new Map<number, Kept>();
  #newest = 0;

  /** `most` is CHANGES_KEPT but in tests. */
  constructor(random: Random, most: number = CHANGES_KEPT) {
    this.life = Buffer.from(random.bytes(9)).toString("base64url");
    this.#most = most;
  }

  /** Sequence number of the newest change of any workspace; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** Takes a change down. */
  note(workspace: number, change: LeaseChangeName, lease: Lease): void {
    let kept = this.#byWorkspace.get(workspace);
    if (kept === undefined) {
      kept = { changes: [], goneTo: 0 };
      this.#byWorkspace.set(workspace, kept);
    }
    this.#newest += 1;
    kept.changes.push({ seq: this.#newest, change, lease });
    // Cut at twice the length, so that a change seldom costs more than its own place.
    if (kept.changes.length < 2 * this.#most) return;
    const gone = kept.changes.splice(0, kept.changes.length - this.#most);
    kept.goneTo = gone.at(-1)?.seq ?? kept.goneTo;
  }

  /** Changes of a workspace after a sequence number, oldest first; undefined when some are not kept, or the number is none of this life. */
  after(workspace: number, seq: number, limit: number): readonly LeaseChange[] | undefined {
    if (seq > this.#newest) return undefined;
    const kept = this.#byWorkspace.get(workspace);
    if (kept === undefined) return [];
    if (seq < kept.goneTo) return undefined;
    // Who follows is near the end.
    let from = kept.changes.length;
    while (from > 0 && (kept.changes[from - 1]?.seq ?? 0) > seq) from -= 1;
    return kept.changes.slice(from, from + limit);
  }
}
