// Resident size of the daemon: idle after a first use, after 100 k mixed calls, and with the daemon's caches full; against itself.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { scratch, startDaemon } from "./support/daemon.ts";
import { atMost, report } from "./support/report.ts";

const FILES = 2_000;
const CALLS = Number(process.env.GIN_BENCH_CALLS ?? "100000");
const CLIENTS = 8;
/** Calls before the first look: the daemon's code is loaded, compiled and its pools filled by then. */
const WARM = CALLS / 5;

const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const path = (index: number): string => `d${index % 50}/f${index}.txt`;
const text = (index: number, version: number): Buffer =>
  Buffer.from(`${index} ${version}\n`.padEnd(4096, "some words of text\n"));

const root = join(scratch("memory"), "ws");
for (let index = 0; index < FILES; index++) {
  mkdirSync(join(root, path(index), ".."), { recursive: true });
  writeFileSync(join(root, path(index)), text(index, 0));
}
const daemon = await startDaemon(root);
const clients = await Promise.all(Array.from({ length: CLIENTS }, () => daemon.client()));
const versions = new Array<number>(FILES).fill(0);

/** Kilobytes the kernel counts as the daemon's; the highest of a few looks in quiet. */
async function resident(): Promise<number> {
  let most = 0;
  for (let look = 0; look < 10; look++) {
    await wait(200);
    const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, "utf8"));
    most = Math.max(most, Number(found?.[1]));
  }
  return most;
}

/** Nine reads of ten calls; files are spread over the clients, so that no save is refused. */
async function mixed(client: number, call: number): Promise<void> {
  const gin = clients[client];
  if (gin === undefined) return;
  const index = ((call * 7 + 1) * CLIENTS + client) % FILES;
  const version = versions[index] ?? 0;
  switch (call % 10) {
    case 0: {
      const edits = [{ path: path(index), expect: hash(text(index, version)), text: text(index, version + 1).toString() }];
      await gin.save({ requestId: `m-${client}-${call}`, edits });
      versions[index] = version + 1;
      return;
    }
    case 1:
      await gin.context({});
      return;
    case 2:
      await gin.listCheckpoints({ path: path(index), limit: 10 });
      return;
    case 3:
      await gin.origin({ path: path(index) });
      return;
    default:
      await gin.readPath({ path: path(index) });
  }
}

async function calls(from: number, to: number): Promise<void> {
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let call = from / CLIENTS; call < to / CLIENTS; call++) await mixed(client, call);
    }),
  );
}

await calls(0, WARM);
const before = await resident();
await calls(WARM, WARM + CALLS);
const after = await resident();
report(
  "memory",
  { "after 100 k calls to before": atMost(after / before, 1.1) },
  { before_mib: before / 1024, after_mib: after / 1024 },
  CALLS,
);
for (const client of clients) client.close();
await daemon.stop();
process.exit(0);
