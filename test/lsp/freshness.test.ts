import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type ProjectName, project, Unavailable } from "../helpers/lsp/projects.ts";
import { missing } from "../helpers/lsp/servers.ts";
import { isLong, scaled } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { type LspHost, startHost } from "./host.ts";
import { type Prepared, prepare, runRounds } from "./rounds.ts";
import { SUBJECTS } from "./subjects.ts";
import type { Edited } from "./ways.ts";

/** Rounds a server. */
const ROUNDS = isLong ? Math.max(1_000, scaled(20)) : scaled(20);
const BRANCHES = ["one", "two", "three", "four"];

/** A project that is served, and the subjects that can be had here; or why it cannot be. */
type Site = { readonly at: Edited; readonly subjects: readonly Prepared[] } | Unavailable;

let host: LspHost;
const sites = new Map<ProjectName, Site>();

async function open(name: ProjectName): Promise<Site> {
  const root = join(tempDir(name), "ws");
  mkdirSync(root);
  try {
    await project(name, root);
  } catch (error) {
    if (error instanceof Unavailable) return error;
    throw error;
  }
  const here = SUBJECTS[name].filter(({ needs }) => needs.every((one) => missing(one) === undefined));
  const subjects = await prepare(root, here, BRANCHES);
  const workspace = await host.open(root);
  return { at: { root, workspace, gin: host.gin, other: await host.client("another"), branches: BRANCHES }, subjects };
}

beforeAll(async () => {
  host = await startHost();
  const names = Object.keys(SUBJECTS) as ProjectName[];
  await Promise.all(names.map(async (name) => sites.set(name, await open(name))));
}, 120_000);

const subjects = Object.entries(SUBJECTS).flatMap(([name, all]) =>
  all.map((subject) => ({ name: name as ProjectName, subject })),
);

describe.concurrent("what is asked after an edit is answered of that edit, whoever made it and however", () => {
  it.for(subjects.map((one) => [one.subject.server, one] as const))(
    "%s",
    { timeout: 180_000 + ROUNDS * 5_000 },
    async ([server, { name, subject }], ctx) => {
      for (const need of subject.needs) {
        const why = missing(need);
        if (why !== undefined) ctx.skip(why);
      }
      const site = sites.get(name);
      if (site === undefined || site instanceof Unavailable) return ctx.skip(site?.message ?? "no project");
      const prepared = site.subjects.filter((one) => one.server === server);
      const [tally] = await runRounds({ at: site.at, subjects: prepared, ask: host.ask, rounds: ROUNDS });
      console.log(`${server}: ${JSON.stringify(tally)}`);
      if (tally === undefined) throw new Error(`no rounds of ${server}`);
      expect(tally.wrong).toEqual([]);
      expect(tally.failed).toBeLessThanOrEqual(ROUNDS * 0.1);
      expect(tally.late).toBe(ROUNDS);
      expect(tally.lateNotReady.length / tally.late, tally.lateNotReady.join("\n")).toBeLessThanOrEqual(0.02);
    },
  );
});
