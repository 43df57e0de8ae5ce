import { GinError } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { Document, Synced } from "../mirror/types.ts";
import type { Leased } from "../pool/types.ts";
import { givenUp, notReady } from "../session/failures.ts";
import type { Deadline } from "../session/types.ts";
import { languageOf } from "../table/servers.ts";
import type { AnswerFacts, LspAsk } from "../types.ts";
import { placeOf } from "./place.ts";
import { Said, Spoken } from "./spoken.ts";
import type { Ground, Needs, Room } from "./types.ts";

/** Times a server is asked because what its answer speaks of changed meanwhile. */
const ATTEMPTS = 3;
/** Most items a list keeps. */
const MOST_ITEMS = 10_000;
/** Milliseconds before a server that says that things are changing is asked again; doubled each time up to the second. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** What came of the work on a ground, and what is to be said of it. */
export interface Grounded<T> {
  readonly value: T;
  readonly facts: AnswerFacts;
}

/** The attempts at one question of one held server. */
export class Attempts {
  readonly #room: Room;
  readonly #question: LspAsk;
  readonly #deadline: Deadline;
  readonly #needs: Needs;
  readonly #leased: Leased;

  constructor(room: Room, question: LspAsk, deadline: Deadline, needs: Needs, leased: Leased) {
    this.#room = room;
    this.#question = question;
    this.#deadline = deadline;
    this.#needs = needs;
    this.#leased = leased;
  }

  async run<T>(work: (ground: Ground) => Promise<T>): Promise<Grounded<T>> {
    const { spec } = this.#leased;
    let pause = FIRST_PAUSE_MS;
    let changing: unknown;
    for (let left = ATTEMPTS; ; ) {
      try {
        const answer = await this.#attempt(work, left === 1);
        if (typeof answer === "object") return answer;
        if (answer === "changed") left -= 1;
        if (left === 0) throw notReady(spec.id, "changing", "files it speaks of change while it answers");
      } catch (thrown) {
        // The time ran out over what changes: that is why there is no answer, whatever was being waited for just then.
        if (changing !== undefined && stateOf(thrown) === "timed_out") throw changing;
        if (left === 0 || stateOf(thrown) !== "changing") throw thrown;
        changing = thrown;
        if (!(await this.#pause(pause))) throw thrown;
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  /** "changed" when what it speaks of changed meanwhile, "indexing" when the server began to look at the workspace again, and has ended that. */
  async #attempt<T>(work: (ground: Ground) => Promise<T>, last: boolean): Promise<Grounded<T> | "changed" | "indexing"> {
    const { mirror, session, run, spec } = this.#leased;
    const before = await mirror.sync(this.#deadline);
    const document = await this.#document();
    const synced = mirror.told ?? before;
    const spoken = new Spoken(this.#question, mirror, synced);
    if (document !== undefined) spoken.of(document.path, document.text.sha256);
    const said = new Said();
    const bare = this.#ground(synced, document, spoken, said);
    const place = this.#needs.about === "place" ? await placeOf(bare) : undefined;
    const value = await work({ ...bare, place });
    const between = mirror.told ?? synced;
    // One that began to look at the workspace again meanwhile may have answered of the half it knew.
    if (this.#needs.indexing === "refused" && session.state === "indexing") {
      if ((await session.run(this.#deadline)) !== run) throw notReady(spec.id, "crashed");
      return "indexing";
    }
    const after = await mirror.sync(this.#deadline);
    if (!(await spoken.holds(after))) return "changed";
    if (this.#needs.across !== false && this.#moved(synced, between, after)) {
      if (!last) return "changed";
      said.partial("other files changed while it was asked: it may be of a mixture of before and after");
    }
    if (this.#needs.across === true && !spec.wholeProject)
      said.partial(`${spec.id} knows only the files it has opened or indexed, not the whole project`);
    if (this.#needs.across === true && run.doubtful)
      said.partial(`${spec.id} could not load the whole project; what it logged has the cause, restart it when that is mended`);
    if (session.state === "indexing" && this.#needs.indexing === "partial") {
      if (isEmpty(value)) throw notReady(spec.id, "indexing", session.progress.join("; "));
      said.partial(`${spec.id} is still looking at the workspace`);
    }
    return { value, facts: this.#facts(synced, document, said) };
  }

  async #document(): Promise<Document | undefined> {
    const { path, ifHash } = this.#question;
    if (this.#needs.about === "server") return undefined;
    if (path === "") throw new GinError("INVALID_REQUEST", "it needs a path", undefined, { facts: { field: "path" } });
    const document = await this.#leased.mirror.open(path, this.#deadline);
    if (ifHash !== undefined && ifHash !== document.text.sha256) throw stale(path, ifHash, document.text.sha256);
    return document;
  }

  #ground(synced: Synced, document: Document | undefined, spoken: Spoken, said: Said): Ground {
    const { mirror } = this.#leased;
    const { run } = mirror;
    const deadline = this.#deadline;
    return {
      room: this.#room,
      question: this.#question,
      leased: this.#leased,
      mirror,
      run,
      encoding: run.encoding,
      deadline,
      clock: this.#room.clock,
      synced,
      document,
      place: undefined,
      most: MOST_ITEMS,
      request: (method, params) => run.request(method, params, deadline),
      text: (path) => spoken.text(path),
      partial: (note) => said.partial(note),
      note: (note) => said.note(note),
    };
  }

  /**
   * Whether the server was told of changes to its files while it was asked, be it that they were taken back; of a question about the whole workspace also whether there
   * were any that it may have read: a file that lost what it held before is not in the answer.
   */
  #moved(synced: Synced, between: Synced, after: Synced): boolean {
    const until = this.#needs.across === true ? [between, after] : [between];
    return until.some((one) => one.generation !== synced.generation && (one.tree === synced.tree || this.#concerns(synced, one)));
  }

  /** Whether two trees differ in a file the server is for. */
  #concerns(from: Synced, to: Synced): boolean {
    for (const { path } of this.#question.workspace.changes(from.tree, to.tree)) {
      if (languageOf(this.#leased.spec, path) !== undefined) return true;
    }
    return false;
  }

  #facts({ generation }: Synced, document: Document | undefined, said: Said): AnswerFacts {
    const { spec, run, session } = this.#leased;
    return {
      server: spec.id,
      serverVersion: run.info?.version ?? "",
      state: session.state === "indexing" ? "indexing" : "ready",
      sha256: document?.text.sha256 ?? "",
      generation,
      partial: said.isPartial,
      note: said.all,
    };
  }

  /** False when there is no time for it. Throws CANCELLED. */
  #pause(ms: number): Promise<boolean> {
    const { signal, atMs } = this.#deadline;
    const { clock } = this.#room;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(givenUp(this.#leased.spec.id));
      if (clock.monotonicMs() + ms >= atMs) return resolve(false);
      const abort = (): void => {
        cancel();
        reject(givenUp(this.#leased.spec.id));
      };
      const cancel = clock.after(ms, () => {
        signal.removeEventListener("abort", abort);
        resolve(true);
      });
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}

/** The state of a NOT_READY; undefined for anything else. */
export function stateOf(thrown: unknown): string | undefined {
  return thrown instanceof GinError && thrown.reason === "NOT_READY" ? String(thrown.facts["state"] ?? "") : undefined;
}

function stale(path: string, expected: Hash, actual: Hash): GinError {
  return new GinError("STALE_CONTENT", `${path} has another content than you read`, "read it again, then ask again", {
    facts: { paths: [{ path, expected_sha256: expected, current_sha256: actual }] },
  });
}

/** Whether something found is nothing: of a server that does not know everything that says nothing. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const part of Object.values(value)) {
    if (part === "" || (Array.isArray(part) && part.length === 0)) return true;
    if (typeof part === "object" && part !== null && (part as { readonly total?: unknown }).total === 0) return true;
  }
  return false;
}
