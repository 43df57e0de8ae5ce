import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/daemon/base/index.ts";
import { openStore } from "../../../src/daemon/store/index.ts";
import { Story } from "../history/storyline.ts";
import { fastDir, openApi } from "./site.ts";
import { at, callers, save, undo } from "./undo-site.ts";

// Undo over long times and many checkpoints.

const DAY_MS = 86_400_000;

it("a request id that ran again after its outcome was forgotten names its last run alone", async () => {
  let ahead = 0;
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + ahead };
  const site = await openApi({ callers, requireLease: "never", clock, engine: { clock } });
  const first = await save(site, "ada", [{ path: "a.txt", text: "first\n" }], "again");
  ahead = 7 * DAY_MS + 1;
  await site.store.write("upkeep", { nowMs: clock.wallMs() });
  const second = await save(site, "ada", [{ path: "a.txt", text: "second\n" }], "again");
  expect(second).not.toBe(first);
  const undone = await undo(site, { request_id: "again", principal: "ada" });
  expect([undone.error, undone.body.undone]).toEqual([undefined, [second]]);
  expect(at(site, "a.txt")).toBe("first\n");
});

it("an undo of more than 10,000 checkpoints of a path has taken all of them back", { timeout: 60_000 }, async () => {
  const directory = fastDir();
  const count = 10_020;
  const store = await openStore({ directory: join(directory, "data"), inline: true });
  const story = await Story.begin(store);
  const ids: string[] = [];
  for (let round = 0; round <= count; round += 1) ids.push(await story.tell({ a: `${round % 2}\n` }, { principal: "ada" }));
  await store.close();
  mkdirSync(join(directory, "ws"));
  writeFileSync(join(directory, "ws", "a"), `${count % 2}\n`);
  const site = await openApi({ directory, callers, requireLease: "never" });
  const undone = await undo(site, { path: "a", checkpoint: ids[1] });
  expect(undone.error).toBeUndefined();
  expect(at(site, "a")).toBe("1\n");
  const { read } = site.store;
  expect(read.undone(undone.body.checkpoint)).toEqual(ids.slice(2).reverse());
  // So nothing of it is there to be taken back again, the oldest included.
  const again = await undo(site, { principal: "ada", since: ids[1] });
  expect([again.error, again.body.no_change, again.body.undone]).toEqual([undefined, true, []]);
});
