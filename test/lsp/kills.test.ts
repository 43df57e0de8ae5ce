import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { type ProjectName, project, Unavailable } from "../helpers/lsp/projects.ts";
import { missing } from "../helpers/lsp/servers.ts";
import { chance } from "../helpers/random.ts";
import { isLong } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { answered, type LspHost, type Question, type Reply, startHost } from "./host.ts";
import { prepare, runRounds } from "./rounds.ts";
import { SUBJECTS } from "./subjects.ts";

/** Seconds under fire. */
const SECONDS = isLong ? 600 : 4;
/** Milliseconds a question may take, and what a busy machine needs beyond them to say that it is over. */
const TIME_MS = 20_000;
const SLACK_MS = 10_000;
const BRANCHES = ["one", "two"];
/** Projects and servers under fire. */
const PROJECTS: readonly ProjectName[] = isLong ? ["typescript", "c", "documents", "python", "go"] : ["documents"];
const WANTED = ["typescript", "pyright", "json", "css", "clangd", "gopls"];

/** Serves a project; skips the test where it cannot be had. */
async function opened(host: LspHost, name: ProjectName, skip: (why: string) => never) {
  const root = join(tempDir(name), "ws");
  mkdirSync(root);
  await project(name, root).catch((error: unknown) => {
    throw error instanceof Unavailable ? skip(error.message) : error;
  });
  const here = SUBJECTS[name].filter(
    ({ server, needs }) => WANTED.includes(server) && needs.every((one) => missing(one) === undefined),
  );
  const subjects = await prepare(root, here, BRANCHES);
  const workspace = await host.open(root);
  return { at: { root, workspace, gin: host.gin, other: await host.client("another"), branches: BRANCHES }, subjects };
}

/** Resolves when no process of a server is left; fails when one is after ten seconds. */
async function noneLeft(host: LspHost): Promise<void> {
  await vi.waitFor(() => expect(host.servers().map(({ command }) => command)).toEqual([]), { timeout: 10_000, interval: 50 });
}

it("servers killed at random under load: no question hangs, no answer is wrong, no process is left behind", {
  timeout: SECONDS * 1_000 + 240_000,
}, async ({ skip }) => {
  const host = await startHost();
  const random = chance("kills");
  const sites = await Promise.all(PROJECTS.map((name) => opened(host, name, skip)));
  const until = performance.now() + SECONDS * 1_000;
  const slow: string[] = [];
  const states: Record<string, number> = {};
  /** Asks, looks how long it took, and starts again what has crashed too often. */
  const ask = async (question: Question): Promise<Reply> => {
    const from = performance.now();
    const reply = await host.ask(question);
    const took = performance.now() - from;
    if (took > TIME_MS + SLACK_MS) slow.push(`${question.server} ${question.action}: ${took} ms`);
    const came = reply.answer === undefined ? reply.state || reply.refused : "answered";
    states[came] = (states[came] ?? 0) + 1;
    if (came === "broken") await host.ask({ ...question, path: "", action: "restart" });
    return reply;
  };
  let kills = 0;
  const killing = (async () => {
    while (performance.now() < until) {
      await wait(100 + random.int(700)); // The input, not a wait for something: kills come at any moment of whatever goes on.
      // What servers start is among them: a `go list` that is killed leaves gopls with a workspace half known.
      const servers = host.servers();
      if (servers.length === 0) continue;
      try {
        process.kill(random.pick(servers).pid, "SIGKILL");
        kills += 1;
      } catch {
        // It had ended by itself.
      }
    }
  })();
  const enough = (): boolean => performance.now() >= until;
  const tallies = await Promise.all(
    sites.map((site) => runRounds({ ...site, ask, rounds: Number.POSITIVE_INFINITY, lateMs: 0, enough })),
  );
  await killing;
  console.log(`kills ${kills}; ${JSON.stringify(states)}`);
  expect(tallies.flat().flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(slow).toEqual([]);
  expect(kills).toBeGreaterThan(SECONDS / 2);
  expect(states["answered"] ?? 0).toBeGreaterThan(SECONDS);
  // When it is over every one of them is well again.
  for (const { at, subjects } of sites) {
    for (const { server } of subjects) await host.ask({ workspace: at.workspace, server, action: "restart" });
  }
  const after = await Promise.all(
    sites.map((site) => runRounds({ ...site, ask: (question) => asAnswered(host, question), rounds: 1, lateMs: 0 })),
  );
  for (const { right, partial, wrong } of after.flat())
    expect({ wrong, known: right + partial >= 2 }).toEqual({ wrong: [], known: true });
  for (const { at } of sites) await host.gin.admin.closeWorkspace({ workspace: at.workspace });
  await noneLeft(host);
  await host.daemon.stop();
});

const asAnswered = async (host: LspHost, question: Question): Promise<Reply> => ({
  answer: await answered(host, { ...question, timeoutMs: 60_000 }),
});

it("a daemon that is killed leaves no server behind", { timeout: 120_000 }, async ({ skip }) => {
  const host = await startHost();
  const names = isLong ? (["documents", "python"] as const) : (["documents"] as const);
  const sites = await Promise.all(names.map((name) => opened(host, name, skip)));
  await Promise.all(
    sites.map((site) => runRounds({ ...site, ask: (question) => asAnswered(host, question), rounds: 1, lateMs: 0 })),
  );
  expect(host.servers().length).toBeGreaterThanOrEqual(names.length + 1);
  host.daemon.child.kill("SIGKILL");
  await noneLeft(host);
});
