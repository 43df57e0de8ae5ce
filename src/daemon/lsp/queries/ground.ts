import { GinError } from "../../base/index.ts";
import type { Leased, Wanted } from "../pool/types.ts";
import type { Deadline, Session } from "../session/types.ts";
import type { LspAsk } from "../types.ts";
import { hasAbility } from "./abilities.ts";
import { Attempts, type Grounded, stateOf } from "./attempts.ts";
import type { Ability, Ground, Handler, Needs, Query, Room } from "./types.ts";

export { type Grounded, stateOf } from "./attempts.ts";

/** Part of the time left that one that could answer partially is waited for until it knows the workspace. */
const PATIENCE = 0.6;
/** The handler of a query that one server answers. */
export function handlerOf(query: Query): Handler {
  return async (room, question, deadline) => {
    const { value, facts } = await onGround(room, question, deadline, query, (ground) => query.find(ground));
    return { ...facts, found: value };
  };
}

/**
 * Does work on a synced server: settles, opens the question's document, checks its hash, finds the place, works, and looks whether what the work spoke of is still
 * the same; if not, all of it is done again, three times at most (NOT_READY "changing" then). Work must change nothing but its ground. `wanted`
 * is by default the question's path and server.
 */
export async function onGround<T>(
  room: Room,
  question: LspAsk,
  deadline: Deadline,
  needs: Needs,
  work: (ground: Ground) => Promise<T>,
  wanted?: Wanted,
): Promise<Grounded<T>> {
  for (let again = true; ; again = false) {
    let session: Session | undefined;
    try {
      return await onLease(room, question, deadline, needs, wanted, (leased) => {
        session = leased.session;
        return leased.mirror.shared(deadline, () => new Attempts(room, question, deadline, needs, leased).run(work));
      });
    } catch (thrown) {
      // One that we ended ourselves (dependencies changed, somebody restarts it) is not the caller's to ask again; one that crashed may have by this very question.
      const state = stateOf(thrown) ?? "";
      if (!again || !(session === undefined ? state === "stopped" : ENDED.has(state) && !CRASHED.has(session.state)))
        throw thrown;
    }
  }
}

/** Of NOT_READY: the run that was asked is no more. */
const ENDED: ReadonlySet<string> = new Set(["stopped", "crashed", "starting"]);
const CRASHED: ReadonlySet<string> = new Set(["crashed", "broken"]);

/** Holds the server of a question while it is asked. UNSUPPORTED where it lacks the ability. */
export async function onLease<T>(
  room: Room,
  question: LspAsk,
  deadline: Deadline,
  needs: Pick<Needs, "ability" | "indexing">,
  wanted: Wanted = wantedOf(question),
  work: (leased: Leased) => Promise<T>,
): Promise<T> {
  const leased = await lease(room, question, deadline, needs, wanted);
  try {
    if (needs.ability !== undefined) mustHave(leased, needs.ability);
    return await work(leased);
  } finally {
    leased.release();
  }
}

async function lease(
  { pool, clock }: Room,
  question: LspAsk,
  deadline: Deadline,
  { indexing }: Pick<Needs, "indexing">,
  wanted: Wanted,
) {
  const { workspace } = question;
  if (indexing !== "partial") return pool.lease(workspace, wanted, deadline, indexing === "exact");
  const now = clock.monotonicMs();
  const patient = { ...deadline, atMs: now + (deadline.atMs - now) * PATIENCE };
  try {
    return await pool.lease(workspace, wanted, patient);
  } catch (thrown) {
    if (stateOf(thrown) !== "indexing") throw thrown;
    return pool.lease(workspace, wanted, deadline, true);
  }
}

function wantedOf({ path, server }: LspAsk): Wanted {
  return { ...(path === "" ? {} : { path }), ...(server === undefined ? {} : { server }) };
}

function mustHave({ spec, run }: Leased, { capability, method }: Ability): void {
  if (hasAbility(run, { capability, method })) return;
  throw new GinError(
    "UNSUPPORTED",
    `${spec.id} cannot answer ${method}: it has no ${capability}`,
    "ask something else, or another server",
    {
      facts: { requested: method },
    },
  );
}
