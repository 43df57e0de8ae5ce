import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { type Answer, type ApiSite, caller, openApi } from "../../unit/api/site.ts";
import { hashOf } from "../workspace/model.ts";
import { diskFiles } from "../workspace/site.ts";
import { bytesOf, editPlace, type PlannedFile, placesOf, planFile } from "./undo-plan.ts";

const AGENTS = ["ada", "bob", "cyd", "dan"] as const;
const callers = Object.fromEntries(AGENTS.map((name) => [name, caller(name)]));
let serial = 0;

async function save(site: ApiSite, as: string, edits: object[]): Promise<string> {
  const answer = await site.call("Save", { request_id: `s${++serial}`, edits }, { as });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.checkpoint;
}

/** Everything below the workspace with its mode: what undo and redo must give back to the byte. */
function tree(site: ApiSite): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, { bytes }] of diskFiles(site.root)) {
    found.set(path, `${(statSync(join(site.root, path)).mode & 0o777).toString(8)} ${hashOf(bytes)}`);
  }
  return found;
}

/** A story: files, who edited what in which order, and the agent whose work is to go. */
interface Story {
  readonly files: readonly PlannedFile[];
  readonly since: string;
  readonly victim: string;
  readonly checkpoints: readonly string[];
}

async function tell(site: ApiSite, random: Chance, name: string, common: number): Promise<Story> {
  const agents = AGENTS.slice(0, 2 + random.int(3));
  const files = Array.from({ length: 1 + random.int(2) }, (_, index) => planFile(random, `${name}/${index}.txt`, agents, common));
  const since = await save(
    site,
    "owner",
    files.map((file) => ({ path: file.path, expect: "absent", data: bytesOf(file).toString("base64") })),
  );
  const victim = random.pick(agents);
  const checkpoints: string[] = [];
  let renames = 0;
  for (let left = 3 + random.int(10); left > 0; left -= 1) {
    const file = random.pick(files);
    const all = placesOf(file);
    // Whoever is undone has done something.
    const place = random.pick(checkpoints.length === 0 ? all.filter((one) => one.agent === victim) : all);
    const expect = hashOf(bytesOf(file));
    editPlace(random, place, common);
    const edit = { path: file.path, expect, data: bytesOf(file).toString("base64") };
    // Now and then a file gets another name on the way, by who is not undone: names are planned apart as well.
    if (place.agent !== victim && random.maybe(0.1)) {
      const to = `${name}/${++renames}-renamed.txt`;
      checkpoints.push(await save(site, place.agent, [{ ...edit, rename_to: to }]));
      file.path = to;
    } else checkpoints.push(await save(site, place.agent, [edit]));
  }
  return { files, since, victim, checkpoints };
}

/** What the files must hold once the victim's work is gone. */
function without(story: Story): [path: string, bytes: string][] {
  return story.files.map((file) => [file.path, bytesOf(file, (place) => place.agent === story.victim).toString("latin1")]);
}

function disk(site: ApiSite, story: Story): [path: string, bytes: string][] {
  return story.files.map(({ path }) => [path, readFileSync(join(site.root, path)).toString("latin1")]);
}

function undo(site: ApiSite, select: object): Promise<Answer> {
  return site.call("Undo", { request_id: `u${++serial}`, select });
}

it("U1: one agent's interleaved work is taken back whole, nobody else's byte changes, and redo is identity", async () => {
  const random = chance("undo");
  const wanted = proofCount("U1", { test: 60, proof: 2_000 });
  const faults: string[] = [];
  let apart = 0;
  let overlapping = 0;
  let conflicts = 0;
  let unchanged = 0;
  for (let story = 0; story < wanted; ) {
    const site = await openApi({ callers });
    for (let round = 0; round < 25 && story < wanted; round += 1, story += 1) {
      const common = random.pick([0, 0, 0.2, 0.5]);
      const told = await tell(site, random, `s${story}`, common);
      const label = `story ${story} (common ${common}, ${told.victim})`;
      const start = tree(site);
      const overlap = overlappingEdit(random, told);
      if (overlap !== undefined && random.maybe(0.4)) {
        await save(site, overlap.by, [overlap.edit]);
        const before = tree(site);
        const refused = await undo(site, { principal: told.victim, since: told.since });
        overlapping += 1;
        if (refused.error?.reason === "MERGE_CONFLICT") conflicts += 1;
        else faults.push(`${label}: overlapping work was answered ${JSON.stringify(refused.error ?? refused.body.paths)}`);
        if (!same(before, tree(site))) faults.push(`${label}: a refused undo changed something`);
        continue;
      }
      const done = await undo(site, { principal: told.victim, since: told.since });
      if (done.status !== 200) {
        faults.push(`${label}: refused, ${JSON.stringify(done.error)}`);
        continue;
      }
      apart += 1;
      if (JSON.stringify(disk(site, told)) !== JSON.stringify(without(told))) faults.push(`${label}: other bytes than planned`);
      if (done.body.no_change) {
        unchanged += 1;
        continue;
      }
      const redone = await site.call("Redo", { request_id: `r${++serial}`, undo: done.body.checkpoint });
      if (redone.status !== 200) faults.push(`${label}: redo refused, ${JSON.stringify(redone.error)}`);
      else if (!same(start, tree(site))) faults.push(`${label}: undo and redo are not identity`);
    }
    await site.close();
  }
  reportProof({
    row: "U1",
    count: wanted,
    violations: faults.length,
    seed: random.seed,
    committed: apart,
    unchanged,
    overlapping,
    conflicts,
  });
  expect(faults).toEqual([]);
}, 1_800_000);

function same(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort());
}

/** Another agent's change of a line that the victim wrote. */
function overlappingEdit(random: Chance, story: Story): { readonly by: string; readonly edit: object } | undefined {
  for (const file of story.files) {
    for (const place of placesOf(file)) {
      const at = place.agent === story.victim ? place.lines.findIndex((line) => line.startsWith(`${place.agent} `)) : -1;
      if (at < 0) continue;
      const expect = hashOf(bytesOf(file));
      const lines = place.lines.with(at, `overlapping ${random.int(1e9)}`);
      const held = place.lines;
      place.lines = lines;
      const edit = { path: file.path, expect, data: bytesOf(file).toString("base64") };
      place.lines = held;
      const by = AGENTS.find((agent) => agent !== story.victim) ?? "owner";
      return { by, edit };
    }
  }
  return undefined;
}
