import { afterAll, expect, it } from "vitest";
import { toGinError } from "../../../src/daemon/base/index.ts";
import type { EditInput } from "../../../src/daemon/workspace/index.ts";
import type { UndoResponse } from "../../../src/gen/gin/v1/undo_pb.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { fastDir } from "../../unit/api/site.ts";
import { applyTo, type Model, someEdits } from "../workspace/model.ts";
import { openSite, type Site, saveInput } from "../workspace/site.ts";
import { closeDiffer, redoIn, type Select, treeOf, undoIn } from "./undo-site.ts";

const AGENTS = ["ada", "bob", "ada/tests"];
afterAll(() => closeDiffer());

/** The model's random save with small texts in place of its contents, so that there is something to merge. */
function someSave(random: Chance, model: Model, label: string): EditInput[] {
  return someEdits(random, model, label).map((edit) => {
    if (edit.content === undefined) return edit;
    const old = model.get(edit.path)?.bytes.toString("latin1").split("\n") ?? [];
    const lines = old.length > 1 ? old : Array.from({ length: 3 + random.int(20) }, (_, index) => `${label} ${index}`);
    const at = random.int(lines.length);
    if (random.maybe(0.6)) lines[at] = `${label} at ${at}`;
    else if (random.maybe(0.5)) lines.splice(at, 0, `${label} before ${at}`);
    else lines.splice(at, 1);
    const nul = random.maybe(0.03) ? "\0" : "";
    return { ...edit, content: Buffer.from(lines.join("\n") + nul, "latin1") };
  });
}

function selection(
  random: Chance,
  ids: readonly { readonly id: string; readonly request: string; readonly by: string }[],
): Select {
  const one = random.pick(ids);
  const how = random.int(4);
  if (how === 0) return { checkpoint: one.id };
  if (how === 1) return { requestId: one.request, principal: one.by };
  if (how === 2) return { path: random.pick(["d0", "d1", "f1", "d1/deep/er/f2"]), checkpoint: one.id };
  return { principal: random.pick(["ada", "bob"]), since: random.maybe(0.5) ? "start" : one.id };
}

it("whatever agents did and whatever is taken back: whole or not at all, as previewed, and redo is identity", async () => {
  const random = chance("undo random");
  const counts = { committed: 0, unchanged: 0, refused: 0, skipped: 0 };
  for (let story = 0; story < scaled(25); story += 1) {
    const site = await openSite(fastDir());
    const model: Model = new Map();
    const ids: { id: string; request: string; by: string }[] = [];
    for (let step = 0; step < 14; step += 1) {
      const request = `s${step}`;
      const edits = someSave(random, model, `s${story}.${step}`);
      if (edits.length === 0) continue;
      const by = random.pick(AGENTS);
      const saved = await site.workspace.save(saveInput(site, request, edits, { principal: by }));
      applyTo(model, edits);
      if (!saved.noChange) ids.push({ id: saved.checkpoint, request, by });
    }
    for (let round = 0; round < 4; round += 1) {
      const select = selection(random, ids);
      const label = `seed ${random.seed}, story ${story}, round ${round}: ${JSON.stringify(select)}`;
      await takeBack(site, label, `${round}`, select, counts);
    }
    await site.close();
  }
  console.log(`undo at random: ${JSON.stringify(counts)}`);
});

async function takeBack(
  site: Site,
  label: string,
  id: string,
  select: Select,
  counts: { committed: number; unchanged: number; refused: number; skipped: number },
): Promise<void> {
  const before = treeOf(site.directory);
  const preview = await undoIn(site, "", select, { preview: true });
  expect([label, treeOf(site.directory)]).toEqual([label, before]);
  let answer: UndoResponse;
  try {
    answer = await undoIn(site, `u${id}`, select);
    expect([label, preview.clean]).toEqual([label, true]);
  } catch (thrown) {
    expect([label, toGinError(thrown).reason]).toEqual([label, "MERGE_CONFLICT"]);
    expect([label, preview.clean, treeOf(site.directory)]).toEqual([label, false, before]);
    counts.refused += 1;
    answer = await undoIn(site, `k${id}`, select, { skipConflicts: true });
    counts.skipped += 1;
  }
  const after = treeOf(site.directory);
  expect([label, answer.noChange]).toEqual([label, after === before]);
  expect([label, elsewhere(before, answer)]).toEqual([label, elsewhere(after, answer)]);
  expect([label, said(answer)]).toEqual([label, said(preview)]);
  if (answer.noChange) {
    counts.unchanged += 1;
    return;
  }
  counts.committed += 1;
  const again = await redoIn(site, `r${id}`, answer.checkpoint);
  expect([label, treeOf(site.directory)]).toEqual([label, before]);
  await undoIn(site, `b${id}`, { checkpoint: again });
  expect([label, treeOf(site.directory)]).toEqual([label, after]);
}

/** The tree without the paths an answer speaks of: nobody may have touched it. */
function elsewhere(tree: string, answer: UndoResponse): string[] {
  const named = new Set(answer.paths.flatMap((path) => [path.path, path.renamedTo]));
  return tree.split("\n").filter((line) => !named.has(line.split(" ")[0] ?? ""));
}

/** What happens to each path; whether conflicts were to be skipped makes no difference. */
function said(answer: UndoResponse): string[] {
  return answer.paths.map(({ path, sha256, renamedTo, conflict, executable }) =>
    [path, sha256, renamedTo, conflict, executable].join(" "),
  );
}
