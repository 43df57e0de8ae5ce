// 16 clients saving on disjoint paths, on the real disk and with 4 ms put into each commit, against one client.
import { createHash } from "node:crypto";
import { scratch } from "./support/daemon.ts";
import { type Engine, openEngine } from "./support/engine.ts";
import { throughput } from "./support/measure.ts";
import { atLeast, atMost, report, shown } from "./support/report.ts";

const CLIENTS = 16;
const SLOW_MS = 4;

/** Saves a second and commits a save with that many clients in closed loops. */
async function measure(
  engine: Engine,
  label: string,
  clients: number,
  calls: number,
): Promise<{ rate: number; commits: number }> {
  const expect = new Map<number, string>();
  const before = engine.commits();
  const rate = await throughput(clients, calls, async (client, call) => {
    const bytes = Buffer.from(`${label} ${client} ${call} `.padEnd(4096, "text "));
    await engine.save(`${label}-${client}-${call}`, [
      { path: `${label}/c${client}.txt`, expect: expect.get(client) ?? "absent", content: bytes },
    ]);
    expect.set(client, createHash("sha256").update(bytes).digest("hex"));
  });
  return { rate, commits: (engine.commits() - before) / (clients * calls) };
}

const real = await openEngine(scratch("many"));
const slow = await openEngine(scratch("many-slow"), SLOW_MS);
await measure(real, "warm", CLIENTS, 20);
const one = await measure(real, "one", 1, 400);
const many = await measure(real, "many", CLIENTS, 100);
const slowOne = await measure(slow, "one", 1, 100);
const slowMany = await measure(slow, "many", CLIENTS, 60);
report(
  "save-many",
  {
    "commits a save at 16 clients": atMost(many.commits, 0.25),
    "commits a save at 16 clients, slow fsync": atMost(slowMany.commits, 0.25),
    "saves a second to 1 client, slow fsync": atLeast(slowMany.rate / slowOne.rate, 5),
    "saves a second to 1 client, real disk": shown(many.rate / one.rate),
  },
  {
    one_per_second: one.rate,
    many_per_second: many.rate,
    slow_one_per_second: slowOne.rate,
    slow_many_per_second: slowMany.rate,
  },
  CLIENTS,
);
await real.close();
await slow.close();
process.exit(0);
