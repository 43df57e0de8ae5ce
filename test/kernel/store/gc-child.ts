// Run by gc-kills.test.ts as a process of its own: `gc-child.ts DIR POINT NTH` collects, with saves between its slices, until it is killed.
import { writeSync } from "node:fs";
import type { FailPoint } from "../../../src/daemon/base/index.ts";
import { openStore } from "../../../src/daemon/store/index.ts";
import { collect, counting, limits } from "../../unit/store/gc-model.ts";
import { Line } from "../../unit/store/line.ts";
import { contentOf } from "./batch.ts";

const [directory = "", point = "gc.end", nth = "1"] = process.argv.slice(2);
const store = await openStore({ directory, inline: true, failAt: { point: point as FailPoint, how: "exit", nth: Number(nth) } });
const line = new Line(store, 1);
line.refresh();
await collect(store, limits({ targetBytes: 500_000, checkpointCount: 20, slicePieces: 40 }), async (slice) => {
  if (slice % 5 !== 0) return;
  // Back to an old version: gc may just be taking it.
  const save = counting(store, line.plan({ now: contentOf(`${slice % 30}`, 60_000), [`new-${slice}`]: `${slice}` }));
  const [result] = await line.commit(save);
  if (result === "committed") writeSync(1, `${line.generation}\n`);
});
await store.close();
