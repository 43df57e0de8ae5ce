import { GinError } from "../../base/index.ts";
import type { Wanted } from "../pool/types.ts";
import type { Deadline } from "../session/types.ts";
import { serverNamed } from "../table/servers.ts";
import type { LspAsk } from "../types.ts";
import { WORKSPACE_SYMBOL } from "./abilities.ts";
import { type Grounded, onGround, stateOf } from "./ground.ts";
import type { Ground, Needs, Room } from "./types.ts";

/** Servers that are started for a question that names neither a server nor a file. */
const MOST_STARTED = 3;

/** What came of asking several servers. */
export interface Several<T> {
  readonly answers: readonly (Grounded<T> & { readonly wanted: Wanted })[];
  /** What is not known as some could not be asked; "" when all answered. */
  readonly missing: string;
}

/**
 * Asks every server that runs side by side (the one named, if one is), and some of those that would be used for the workspace's files: with `wake`, or where none runs.
 * Those that give no answer are missing. Throws the first refusal when none answered.
 */
export async function askSeveral<T>(
  room: Room,
  question: LspAsk,
  deadline: Deadline,
  needs: Needs,
  work: (ground: Ground) => Promise<T>,
  wake = false,
): Promise<Several<T>> {
  const { chosen, others } = serversFor(room, question, needs, wake);
  const refusals: { readonly refusal: GinError; readonly wanted: (typeof chosen)[number] }[] = [];
  const outcomes = await Promise.all(
    chosen.map(async (wanted) => {
      try {
        return [{ ...(await onGround(room, question, deadline, needs, work, wanted)), wanted }];
      } catch (thrown) {
        if (!(thrown instanceof GinError)) throw thrown;
        refusals.push({ refusal: thrown, wanted });
        return [];
      }
    }),
  );
  const answers = outcomes.flat();
  const given =
    refusals.find(({ refusal }) => refusal.reason === "CANCELLED") ?? (answers.length === 0 ? refusals[0] : undefined);
  if (given !== undefined) throw given.refusal;
  if (answers.length === 0) {
    const what = others.length === 0 ? "no language server would be used for its files" : others.join(", ");
    throw new GinError("UNSUPPORTED", `nobody can be asked about the whole workspace: ${what}`, "name a path");
  }
  const failed = refusals.map(({ refusal, wanted }) => {
    const why = refusal.reason === "UNSUPPORTED" ? "cannot" : (stateOf(refusal) ?? refusal.reason);
    return `${wanted.server} (${why})`;
  });
  const missing = [...failed, ...others].join(", ");
  return { answers, missing: missing === "" ? "" : `without what others know: ${missing}` };
}

/** States of servers that are not asked before they are started, or cannot be. */
const ASLEEP: ReadonlySet<string> = new Set(["stopped", "not_installed", "needs_trust"]);

function serversFor(
  { pool }: Room,
  { workspace, server }: LspAsk,
  { ability }: Needs,
  wake: boolean,
): { readonly chosen: readonly (Wanted & { readonly server: string })[]; readonly others: readonly string[] } {
  const able = (id: string) => ability !== WORKSPACE_SYMBOL || serverNamed(id)?.workspaceSymbols !== false;
  const all = pool.status(workspace).filter((one) => able(one.server));
  const awake = all.filter(({ state }) => !ASLEEP.has(state)).map((one) => ({ server: one.server, folder: one.folder }));
  if (server !== undefined) {
    const own = awake.filter((one) => one.server === server);
    return { chosen: own.length > 0 ? own : [{ server }], others: [] };
  }
  const startable = all.filter(({ state }) => state === "stopped");
  const started = awake.length === 0 || wake ? startable.slice(0, MOST_STARTED) : [];
  const others = all
    .filter((one) => ASLEEP.has(one.state) && !started.includes(one))
    .map((one) => `${one.server} (${one.state})`);
  return { chosen: [...awake, ...started.map((one) => ({ server: one.server, folder: one.folder }))], others };
}
