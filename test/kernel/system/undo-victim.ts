// A process that undoes until it is killed at the fail point it is told, or only recovers and dies there.
import { type FailPoint, type FailPoints, noFailPoints } from "../../../src/daemon/base/index.ts";
import { openStore } from "../../../src/daemon/store/index.ts";
import { openSite } from "../workspace/site.ts";
import { ADA, closeDiffer, undoIn } from "./undo-site.ts";

/** What the parent says on argv. */
interface Orders {
  readonly directory: string;
  readonly point: FailPoint;
  readonly boot: string;
  readonly worker: string;
}

async function main({ directory, point, boot, worker }: Orders): Promise<void> {
  const inStore = /^(commit|side)\./.test(point);
  const recovering = point.startsWith("recover.");
  let armed = recovering;
  const die: FailPoints = {
    hit(at) {
      if (armed && at === point) process.kill(process.pid, "SIGKILL");
    },
  };
  const store = await openStore({
    directory: `${directory}/data`,
    worker: new URL(worker),
    ...(inStore ? { failAt: { point, how: "exit", nth: 1 } } : {}),
  });
  const site = await openSite(directory, { store, boot, failPoints: inStore ? noFailPoints : die });
  if (!recovering) {
    armed = true;
    await undoIn(site, "the-undo", ADA);
  }
  await site.close();
  await closeDiffer();
}

await main(JSON.parse(process.argv[2] ?? "{}") as Orders);
