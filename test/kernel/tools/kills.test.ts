import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import type { FailPoint } from "../../../src/daemon/base/index.ts";
import { repo } from "../../helpers/repo.ts";
import { isLong } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { bundleProgram, type VictimProgram } from "../../helpers/victim.ts";
import { openApi } from "../../unit/api/site.ts";
import { diskFiles } from "../workspace/site.ts";
import { FILES, files, REQUEST, theEdit } from "./edit.ts";
import type { Orders } from "./victim.ts";

let program: VictimProgram;

beforeAll(async () => {
  program = await bundleProgram("test/kernel/tools/victim.ts", { vitest: join(repo, "test/kernel/tools/outside-vitest.ts") });
}, 60_000);

/** Runs the victim to its end: killed as ordered, or done when the point was never come by. */
function run(directory: string, point: FailPoint, nth: number): "killed" | "done" {
  const orders: Orders = { directory, point, nth, worker: program.worker };
  const ended = spawnSync(process.execPath, [program.victim, JSON.stringify(orders)], {
    encoding: "utf8",
    env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
  });
  if (ended.signal === "SIGKILL") return "killed";
  if (ended.status !== 0) throw new Error(`the victim failed by itself: ${ended.stderr}`);
  return "done";
}

/** Where a kill comes, and how many times the point is come by first. */
const KILLS: readonly (readonly [FailPoint, number])[] = [
  ["save.judged", 1],
  ["stage.written", 1],
  ["stage.written", 25],
  ["save.staged", 1],
  ["commit.objects", 1],
  ["commit.rows", 1],
  ["commit.before", 1],
  ["commit.after", 1],
  ["save.committed", 1],
  ["apply.between", 1],
  ["apply.between", 25],
  ["save.applied", 1],
  ["mark.before", 1],
  ["save.answer", 1],
];

/** A short run takes some of them: before the commit, in it, behind it, amid the files. */
const SHORT: ReadonlySet<string> = new Set([
  "stage.written 25",
  "commit.rows 1",
  "commit.after 1",
  "apply.between 25",
  "save.answer 1",
]);
const kills = KILLS.filter(([point, nth]) => isLong || SHORT.has(`${point} ${nth}`));

/** From here on it has happened. */
const COMMITTED = /^(commit\.after|save\.(committed|applied|answer)|apply\.|mark\.)/;

it.each(kills)(
  "killed at %s (%i), a multi_edit over 50 files happened whole or not at all, and its outcome says which",
  async (point, nth) => {
    const directory = tempDir("tool-kill");
    for (const { path, before } of files) {
      const file = join(directory, "ws", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, before);
    }
    // Recorded before, or the first commits would be those that take the files in.
    const before = await openApi({ directory });
    const reading = { tool: "multi_edit", arguments: { ...theEdit(), dry_run: true } };
    expect((await before.call("CallTool", reading)).body.ok).toBe(true);
    await before.close();
    expect(run(directory, point, nth)).toBe("killed");

    const site = await openApi({ directory });
    const texts = files.map(({ path }) => readFileSync(join(site.root, path), "utf8"));
    const old = texts.filter((text, index) => text === files[index]?.before).length;
    const fresh = texts.filter((text, index) => text === files[index]?.after).length;
    expect([old, fresh]).toEqual(fresh > 0 ? [0, FILES] : [FILES, 0]);

    const outcome = await site.call("RequestOutcome", { target_request_id: REQUEST });
    const happened = outcome.body.outcome === "OUTCOME_COMMITTED";
    expect([happened, fresh > 0]).toEqual([COMMITTED.test(point), COMMITTED.test(point)]);
    // The same request again: its stored answer, or the call itself.
    const again = await site.call("CallTool", { tool: "multi_edit", request_id: REQUEST, arguments: theEdit() });
    expect([again.body.ok, again.body.replayed]).toEqual([true, happened]);
    expect(again.body.result).toMatch(/^applied 50 edits\n/);
    expect(files.map(({ path }) => readFileSync(join(site.root, path), "utf8"))).toEqual(files.map(({ after }) => after));
    expect(site.store.read.touched(again.body.checkpoint, 0, 0).count).toBe(FILES);
    await site.close();
    expect([...diskFiles(join(directory, "ws")).keys()].filter((path) => path.includes(".gin-tmp-"))).toEqual([]);
  },
  60_000,
);
