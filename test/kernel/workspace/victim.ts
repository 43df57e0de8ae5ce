// A process that saves at random until it is killed: by itself, at the fail point it is told, or by anybody.
import { appendFileSync } from "node:fs";
import { type FailPoint, type FailPoints, noFailPoints } from "../../../src/daemon/base/index.ts";
import { openStore, type StoreOptions } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { applyTo, type Model, pathsOf, someEdits } from "./model.ts";
import { diskFiles, openSite, saveInput } from "./site.ts";
import { imported } from "./whole.ts";

/** What the parent says on argv. */
export interface Orders {
  readonly directory: string;
  readonly journal: string;
  readonly label: string;
  readonly boot: string;
  readonly saves: number;
  /** Where to die; undefined runs to the end. */
  readonly point?: FailPoint;
  readonly nth: number;
  readonly worker: string;
  /** Whether it imports the whole tree, and waits for the end of that before it saves. */
  readonly import?: boolean;
}

/** Points that the store's thread passes; the rest are passed on the main thread. */
const IN_STORE = /^(commit|side)\./;

async function main(orders: Orders): Promise<void> {
  let hits = 0;
  const die: FailPoints = {
    hit(point) {
      if (point === orders.point && ++hits === orders.nth) process.kill(process.pid, "SIGKILL");
    },
  };
  const inStore = orders.point !== undefined && IN_STORE.test(orders.point);
  const options: StoreOptions = {
    directory: `${orders.directory}/data`,
    worker: new URL(orders.worker),
    ...(inStore && orders.point !== undefined ? { failAt: { point: orders.point, how: "exit", nth: orders.nth } } : {}),
  };
  const store = await openStore(options);
  const site = await openSite(orders.directory, {
    store,
    boot: orders.boot,
    failPoints: inStore ? noFailPoints : die,
    import: orders.import === true,
  });
  if (orders.import === true) await imported(site);
  const random = chance(orders.label);
  const model: Model = new Map([...diskFiles(`${orders.directory}/ws`)]);
  for (let index = 0; index < orders.saves; index++) {
    const one = someEdits(random, model, `${orders.label}-${index}a`);
    const both = random.maybe(0.3) ? someEdits(random, model, `${orders.label}-${index}b`, new Set(pathsOf(one))) : [];
    const plans = [one, both].filter((edits) => edits.length > 0);
    await Promise.all(
      plans.map(async (edits, at) => {
        const id = `${orders.label}-${index}-${at}`;
        const plain = edits.map((edit) => ({
          ...edit,
          ...(edit.content === undefined ? {} : { content: Buffer.from(edit.content).toString("base64") }),
        }));
        appendFileSync(orders.journal, `${JSON.stringify({ sent: id, edits: plain })}\n`);
        await site.workspace.save(saveInput(site, id, edits));
        appendFileSync(orders.journal, `${JSON.stringify({ answered: id })}\n`);
      }),
    );
    for (const edits of plans) applyTo(model, edits);
  }
  // Lets background syncing pass its points too.
  await site.close();
}

await main(JSON.parse(process.argv[2] ?? "{}") as Orders);
