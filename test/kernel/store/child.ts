// Run by tests of this folder as a process of its own: `child.ts crash DIR POINT NTH`, `saves DIR COUNT BYTES`, `lock FILE`.
import { writeSync } from "node:fs";
import type { FailPoint } from "../../../src/daemon/base/index.ts";
import { openStore, takeLock } from "../../../src/daemon/store/index.ts";
import { batch, contentOf } from "./batch.ts";

const [what = "", directory = "", ...rest] = process.argv.slice(2);

/** At once, whatever becomes of the process. */
const say = (text: string): void => void writeSync(1, `${text}\n`);

if (what === "crash") {
  const [point = "commit.begin", nth = "1"] = rest;
  const store = await openStore({ directory, failAt: { point: point as FailPoint, how: "exit", nth: Number(nth) } });
  for (let number = 1; number <= 4; number++) {
    const results = await store.write("commit", { saves: batch(store, number), boot: "boot-1" });
    say(`acknowledged ${number} ${results.join(" ")}`);
  }
  await store.close();
} else if (what === "saves") {
  const [count = "1", bytes = "1"] = rest;
  const store = await openStore({ directory });
  for (let number = 1; number <= Number(count); number++) {
    await store.write("commit", { saves: batch(store, number, contentOf(`${number}`, Number(bytes))), boot: "boot-1" });
  }
  // Without a close, whose syncs are not those of a save.
  process.kill(process.pid, "SIGKILL");
} else if (what === "lock") {
  const lock = takeLock(directory, rest[0] ?? "");
  say(JSON.stringify(lock.held ? { held: true } : lock));
  if (rest[1] === "hold") setInterval(() => {}, 1000);
}
