import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FAIL_POINTS, type FailPoint } from "../../../src/daemon/base/index.ts";
import { chance } from "../../helpers/random.ts";
import { isLong } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { bundleProgram, type VictimProgram } from "../../helpers/victim.ts";
import { diskFiles, openSite } from "../workspace/site.ts";
import { ADA, closeDiffer, prepare, redoIn, treeOf, undoIn } from "./undo-site.ts";

let program: VictimProgram;

beforeAll(async () => {
  program = await bundleProgram("test/kernel/system/undo-victim.ts");
});
afterAll(() => closeDiffer());

/** Whether it was killed, as ordered, before its end. */
function run(directory: string, point: FailPoint, boot: string): boolean {
  const ended = spawnSync(
    process.execPath,
    [program.victim, JSON.stringify({ directory, point, boot, worker: program.worker })],
    {
      encoding: "utf8",
      env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
    },
  );
  if (ended.signal !== "SIGKILL" && ended.status !== 0) throw new Error(`the victim failed by itself: ${ended.stderr}`);
  return ended.signal === "SIGKILL";
}

/** What a save and its recovery come by. */
const POINTS = FAIL_POINTS.filter((point) => /^(save|stage|side|commit|apply|mark|durable|recover)\./.test(point));

/** Points that an undo of this workspace does not come by: what recovery finds nothing to write again or record for. */
const MAY_NOT_COME = /^(recover\.(staged|applied|external)|apply\.displaced)$/;

it("killed at any point, an undo happened whole or not at all, and redo brings everything again", async () => {
  const random = chance("undo kills");
  const never: FailPoint[] = [];
  // All of them take a minute: a short run draws some.
  const points = POINTS.filter(() => isLong || random.maybe(10 / POINTS.length));
  for (const [index, point] of points.entries()) {
    const directory = tempDir("undo-kill");
    const first = await openSite(directory, { boot: "boot-1" });
    await prepare(first);
    const { generation } = first.workspace.state();
    await first.close();
    const before = treeOf(directory);
    const boot = index % 2 === 0 ? "boot-1" : "boot-2";
    if (point.startsWith("recover.")) run(directory, "save.committed", "boot-1");
    if (!run(directory, point, boot)) never.push(point);

    const site = await openSite(directory, { boot });
    const head = site.store.read.checkpoint(site.workspace.state().head);
    const outcome = site.store.read.request(site.workspace.rowid, "owner", "the-undo");
    const happened = head?.cause === "undo";
    expect([point, outcome?.outcome]).toEqual([point, happened ? "committed" : undefined]);
    const undone = happened ? head.id : (await undoIn(site, "the-undo", ADA)).checkpoint;
    expect([point, site.workspace.state().generation]).toEqual([point, generation + 1]);
    const after = treeOf(directory);
    expect([point, summary(after)]).toEqual([point, ["a.txt", "gone.txt", "old/name.txt", "run.sh", "wide.txt"]]);
    await redoIn(site, "the-redo", undone);
    expect([point, treeOf(directory)]).toEqual([point, before]);
    await undoIn(site, "again", ADA);
    expect([point, treeOf(directory)]).toEqual([point, after]);
    await site.close();
    const left = [...diskFiles(join(directory, "ws")).keys()].filter((path) => path.includes(".gin-tmp-"));
    expect([point, left]).toEqual([point, []]);
  }
  console.log(`undo kills: ${points.length - never.length} of ${points.length} points, never reached: ${never.join(" ")}`);
  expect(never.filter((point) => !MAY_NOT_COME.test(point))).toEqual([]);
}, 240_000);

function summary(tree: string): string[] {
  return tree.split("\n").map((line) => line.split(" ")[0] ?? "");
}
