import { expect, it } from "vitest";
import { EngineError, JsonClient, type JsonObject, TransportError } from "../../../src/clients/sdk/index.ts";
import { startDaemon } from "../../helpers/daemon.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { type Cut, startCuttingProxy } from "./cutting-proxy.ts";
import { type LoggedCheckpoint, logOf } from "./log.ts";
import { generationOf, PatientClient, reasonOf, sha } from "./patient.ts";

/** Callers at the same time, each on a file of its own. */
const LANES = 8;
/** A Save as the SDK posts it has about this many bytes; its answer as well. */
const MESSAGE_BYTES = 900;

/** What every attempt of one request came to. */
interface Sent {
  readonly id: string;
  readonly message: JsonObject;
  readonly answers: JsonObject[];
  readonly refusals: string[];
  lost: number;
}

/** An answer without what a replay may change: the state of now, and the mark of a replay. */
function lasting({ state: _state, replayed: _replayed, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** Nothing is at the path yet; anything else is thrown on. */
function absent(thrown: unknown): undefined {
  if (reasonOf(thrown) !== "PATH_NOT_FOUND") throw thrown;
}

function randomCut(random: Chance): Cut {
  if (random.maybe(0.35)) return undefined;
  const where = random.pick(["connect", "request", "request", "answer", "answer"] as const);
  // Small counts too: the first byte of an answer is the moment after everything is done.
  return { where, bytes: random.maybe(0.2) ? 1 : 1 + random.int(MESSAGE_BYTES) };
}

async function attempt(client: JsonClient, sent: Sent): Promise<void> {
  try {
    sent.answers.push(await client.run("save", sent.message));
  } catch (thrown) {
    if (thrown instanceof EngineError) sent.refusals.push(thrown.detail.reason);
    else if (thrown instanceof TransportError) sent.lost++;
    else throw thrown;
  }
}

/** Faults of one request, judged by its outcome, the log, and the answers that came through. */
async function judge(own: PatientClient, sent: Sent, log: ReadonlyMap<string, LoggedCheckpoint[]>): Promise<string[]> {
  const faults: string[] = [];
  const entries = log.get(sent.id) ?? [];
  const told = await own.run("request_outcome", { target_request_id: sent.id });
  const committed = told.outcome === "OUTCOME_COMMITTED";
  if (!committed && !["OUTCOME_NOT_FOUND", "OUTCOME_REJECTED"].includes(String(told.outcome)))
    faults.push(`its outcome is ${String(told.outcome)}`);
  if (entries.length !== (committed ? 1 : 0)) faults.push(`${String(told.outcome)} with ${entries.length} generations`);
  if (!committed && sent.answers.length > 0) faults.push(`${String(told.outcome)} although it was acknowledged`);
  if (!committed) return faults;
  const stored = (told.response as { save: JsonObject }).save;
  for (const answer of sent.answers) {
    if (JSON.stringify(lasting(answer)) !== JSON.stringify(lasting(stored))) faults.push("answers differ");
    if (answer.checkpoint !== entries[0]?.id) faults.push("the answer names another checkpoint than the log");
    if (answer.replayed === false && generationOf(answer) !== entries[0]?.generation)
      faults.push(`answered generation ${generationOf(answer)}, the log has ${entries[0]?.generation}`);
  }
  if (sent.answers.filter(({ replayed }) => replayed === false).length > 1) faults.push("two attempts say they did it");
  return faults;
}

it("G8: a request sent once to three times over cut connections is done at most once, and every answer is the same", {
  timeout: 1_200_000,
}, async () => {
  const random = chance("retries");
  const wanted = proofCount("G8", { test: 600, proof: 10_000 });
  const { root, host } = tempHost();
  const daemon = await startDaemon({
    host,
    root,
    args: ["--listen", "none"],
    env: { XDG_RUNTIME_DIR: tempDir("run") },
  });
  const proxy = await startCuttingProxy(daemon.ready.socket, () => randomCut(random));
  const own = new PatientClient(daemon.ready.socket, "person");
  const faults: string[] = [];
  const all: Sent[] = [];
  let next = 0;
  let reused = 0;

  const lane = async (number: number): Promise<void> => {
    const path = `lane-${number}.txt`;
    let expect = "absent";
    let last: Sent | undefined;
    const written = new Map<string, Sent>();
    for (let index = next++; index < wanted; index = next++) {
      const sent: Sent = { id: `r-${index}`, message: {}, answers: [], refusals: [], lost: 0 };
      all.push(sent);
      const text = `request ${index} of lane ${number} ${"x".repeat(random.int(300))}\n`;
      // One in ten expects what is not there: a refusal must not become anything else by being sent again.
      const expected = random.maybe(0.1) ? sha("never there") : expect;
      Object.assign(sent.message, { request_id: sent.id, edits: [{ path, expect: expected, text }] });
      // Each attempt is a connection of its own; one in five is sent while the one before may still be under way.
      const clients = Array.from(
        { length: 1 + random.int(3) },
        () => new JsonClient({ target: { socketPath: proxy.socket }, principal: "person" }),
      );
      if (random.maybe(0.2)) await Promise.all(clients.map((client) => attempt(client, sent)));
      else for (const client of clients) await attempt(client, sent);
      for (const client of clients) client.close();
      const outcome = await own.run("request_outcome", { target_request_id: sent.id });
      if (outcome.outcome === "OUTCOME_IN_PROGRESS") {
        // A cut attempt is still being done: joining it is the way to wait.
        await own.run("save", sent.message).then(
          (answer) => sent.answers.push(answer),
          (thrown: unknown) => sent.refusals.push(thrown instanceof EngineError ? thrown.detail.reason : String(thrown)),
        );
      }
      const now = await own.run("read_path", { path, content: false }).catch(absent);
      const there = now === undefined ? "absent" : String(now.sha256);
      if (expected !== expect && there === sha(text)) faults.push(`${sent.id}: a save that expected what was not there was done`);
      written.set(sha(text), sent);
      // Bytes of a cut attempt may be read after its outcome was asked for: an earlier request of this lane, still done only once.
      const writer = written.get(there);
      if (there !== expect && writer === undefined) faults.push(`${sent.id}: ${path} holds what nobody wrote`);
      if (there !== expect) last = writer;
      expect = there;
      if (last !== undefined && random.maybe(0.1)) {
        const other = { ...last.message, edits: [{ path, expect, text: "another content under an id that was used\n" }] };
        const reason = await own.run("save", other).then(
          () => "done",
          (thrown: unknown) => (thrown instanceof EngineError ? thrown.detail.reason : String(thrown)),
        );
        if (reason !== "REQUEST_ID_REUSED") faults.push(`${last.id}: another content under its id was answered ${reason}`);
        reused++;
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));

  const log = new Map<string, LoggedCheckpoint[]>();
  for (const entry of await logOf(own)) log.set(entry.request, [...(log.get(entry.request) ?? []), entry]);
  for (const sent of all) for (const fault of await judge(own, sent, log)) faults.push(`${sent.id}: ${fault}`);
  const reasons = new Set(all.flatMap(({ refusals }) => refusals));
  own.close();
  await daemon.stop();
  reportProof({
    row: "G8",
    count: all.length,
    violations: faults.length,
    seed: random.seed,
    committed: log.size - (log.has("") ? 1 : 0),
    cut: `${proxy.cuts.connect} before, ${proxy.cuts.request} in the request, ${proxy.cuts.answer} in the answer`,
    replays: all.reduce((sum, { answers }) => sum + answers.filter(({ replayed }) => replayed === true).length, 0),
    reused,
    refusals: [...reasons].sort().join(" "),
  });
  expect(faults).toEqual([]);
  expect([...reasons].filter((reason) => !["STALE_CONTENT", "CANCELLED", "REQUEST_IN_PROGRESS"].includes(reason))).toEqual([]);
  for (const cut of Object.values(proxy.cuts)) expect(cut).toBeGreaterThan(wanted / 20);
  expect(reused).toBeGreaterThan(0);
});
