import { GinError } from "../../base/index.ts";
import type { Wanted } from "../pool/types.ts";
import type { Deadline } from "../session/types.ts";
import type { LspAsk } from "../types.ts";
import { type Grounded, onGround, stateOf } from "./ground.ts";
import type { Ground, Needs, Room } from "./types.ts";

/** Servers that are started for a question that names neither a server nor a file, where none runs. */
const MOST_STARTED = 3;

/** What came of asking several servers. */
export interface Several<T> {
  readonly answers: readonly (Grounded<T> & { readonly wanted: Wanted })[];
  /** What is not known as some could not be asked; "" when all answered. */
  readonly missing: string;
}

/**
 * Asks every server that runs (the one named, if one is; where none runs, those that would be used) side by side. Those that lack the ability have nothing to say. Throws the
 * first refusal when none answered.
 */
export async function askSeveral<T>(
  room: Room,
  question: LspAsk,
  deadline: Deadline,
  needs: Needs,
  work: (ground: Ground) => Promise<T>,
): Promise<Several<T>> {
  const { chosen, others } = serversFor(room, question);
  const outcomes = await Promise.all(
    chosen.map(async (wanted) => {
      try {
        return { ...(await onGround(room, question, deadline, needs, work, wanted)), wanted };
      } catch (thrown) {
        if (!(thrown instanceof GinError)) throw thrown;
        return thrown;
      }
    }),
  );
  const answers = outcomes.flatMap((one) => (one instanceof GinError ? [] : [one]));
  const refusals = outcomes
    .filter((one) => one instanceof GinError)
    .filter(({ reason }) => answers.length === 0 || reason !== "UNSUPPORTED");
  const given = refusals.find(({ reason }) => reason === "CANCELLED") ?? (answers.length === 0 ? refusals[0] : undefined);
  if (given !== undefined) throw given;
  if (answers.length === 0) {
    throw new GinError(
      "UNSUPPORTED",
      "no language server runs in this workspace, and none would be used for its files",
      "name a path",
    );
  }
  const failed = refusals.map(
    (refusal) => `${String(refusal.facts["server"] ?? "a server")}: ${stateOf(refusal) ?? refusal.reason}`,
  );
  const silent = others.map((server) => `${server}: does not run`);
  const missing = [...failed, ...silent].join(", ");
  return { answers, missing: missing === "" ? "" : `not asked or not answered: ${missing}` };
}

function serversFor(
  { pool }: Room,
  { workspace, server }: LspAsk,
): { readonly chosen: readonly Wanted[]; readonly others: readonly string[] } {
  const running = pool.running(workspace).map(({ spec, folder }) => ({ server: spec.id, folder }));
  if (server !== undefined) {
    const own = running.filter((one) => one.server === server);
    return { chosen: own.length > 0 ? own : [{ server }], others: [] };
  }
  const asleep = pool.status(workspace).filter(({ state }) => state === "stopped");
  const started = running.length > 0 ? [] : asleep.slice(0, MOST_STARTED);
  const others = asleep.filter((one) => !started.includes(one)).map((one) => one.server);
  return { chosen: [...running, ...started.map((one) => ({ server: one.server, folder: one.folder }))], others };
}
