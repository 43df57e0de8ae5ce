// A process that serves the api and makes one multi_edit over all files of its workspace, until it is killed at the fail point it is told.
import { type FailPoint, type FailPoints, noFailPoints } from "../../../src/daemon/base/index.ts";
import { openStore } from "../../../src/daemon/store/index.ts";
import { openApi } from "../../unit/api/site.ts";
import { REQUEST, theEdit } from "./edit.ts";

/** What the parent says on argv. */
export interface Orders {
  readonly directory: string;
  readonly point: FailPoint;
  /** Which time the point is come by. */
  readonly nth: number;
  readonly worker: string;
}

async function main({ directory, point, nth, worker }: Orders): Promise<void> {
  const inStore = /^(commit|side)\./.test(point);
  let armed = false;
  let hits = 0;
  const die: FailPoints = {
    hit(at) {
      if (!armed || at !== point) return;
      hits += 1;
      if (hits === nth) process.kill(process.pid, "SIGKILL");
    },
  };
  const store = await openStore({
    directory: `${directory}/data`,
    worker: new URL(worker),
    ...(inStore ? { failAt: { point, how: "exit", nth } } : {}),
  });
  const site = await openApi({ directory, engine: { store, failPoints: inStore ? noFailPoints : die } });
  armed = true;
  const answer = await site.call("CallTool", { tool: "multi_edit", request_id: REQUEST, arguments: theEdit() });
  if (answer.body.ok !== true) throw new Error(JSON.stringify(answer.body));
  await site.close();
}

await main(JSON.parse(process.argv[2] ?? "{}") as Orders);
process.exit(0);
