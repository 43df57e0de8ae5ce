import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { startDaemon } from "../../helpers/daemon.ts";
import { ended, runCommand, spawnOwned } from "../../helpers/process.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { chance } from "../../helpers/random.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { checkHistory, type Violation } from "./check-history.ts";
import { type Fault, startFaultyProxy } from "./faulty-proxy.ts";
import { appendHistory, type HistoryRecord, initialText, marksOf, micros, readHistory } from "./history.ts";
import type { ClientOrders } from "./history-client.ts";
import { logOf } from "./log.ts";
import { generationOf, PatientClient, sha } from "./patient.ts";

const PROCESSES = 4;
const CONNECTIONS = 16;
const FILES = 8;
/** Acknowledged saves after which a process says so. */
const TELL = 10;
const TSX = ["--import", "tsx"];
const here = join(repo, "test/kernel/system");

interface Plan {
  readonly processes: number;
  readonly connections: number;
  readonly saves: number;
  /** Kills the daemon once half of the saves are acknowledged, and starts it again. */
  readonly kill: boolean;
  readonly fault?: Fault;
}

/** Runs clients against a daemon and gives the files of their history. */
async function record(plan: Plan): Promise<string[]> {
  const { root, host } = tempHost();
  const env = { XDG_RUNTIME_DIR: tempDir("run") };
  const out = tempDir("history");
  const names = Array.from({ length: plan.processes * plan.connections }, (_, at) => `c${at}`);
  const paths = Array.from({ length: FILES }, (_, at) => (at % 2 === 0 ? `f${at}.txt` : `d/f${at}.txt`));
  mkdirSync(join(root, "d"));
  for (const path of paths) writeFileSync(join(root, path), initialText(names));
  let daemon = await startDaemon({ host, root, args: ["--listen", "none"], env });
  const { socket } = daemon.ready;
  const own = new PatientClient(socket, "owner");
  const main = join(out, "main.jsonl");
  for (const path of paths) {
    const generation = generationOf(await own.run("read_path", { path }));
    appendHistory(main, [{ op: "start", path, sha256: sha(initialText(names)), generation }]);
  }
  const through = plan.fault === undefined ? socket : await startFaultyProxy(socket, plan.fault);

  const each = plan.saves / names.length;
  if (!Number.isInteger(each)) throw new Error(`${plan.saves} saves do not divide among ${names.length} clients`);
  const files = [main];
  let acknowledged = 0;
  let half = (): void => {};
  const halfway = new Promise<void>((resolve) => (half = resolve));
  const clients = Array.from({ length: plan.processes }, async (_, at) => {
    const file = join(out, `process-${at}.jsonl`);
    files.push(file);
    const orders: ClientOrders = {
      socket: through,
      file,
      clients: names.slice(at * plan.connections, (at + 1) * plan.connections),
      paths,
      saves: each,
      tell: TELL,
    };
    const child = spawnOwned(process.execPath, [...TSX, join(here, "history-client.ts"), JSON.stringify(orders)], { cwd: repo });
    child.stdin.end();
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.startsWith("acknowledged")) return;
      acknowledged += TELL;
      if (acknowledged >= plan.saves / 2) half();
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const { code, signal } = await ended(child);
    if (code !== 0) throw new Error(`a client process ended (${signal ?? code}): ${said}`);
  });
  const all = Promise.all(clients);
  if (plan.kill) {
    await Promise.race([halfway, all]);
    await daemon.kill();
    appendHistory(main, [{ op: "killed", at: micros() }]);
    daemon = await startDaemon({ host, root, args: ["--listen", "none"], env });
  }
  await all;
  appendHistory(
    main,
    (await logOf(own)).flatMap((checkpoint) =>
      checkpoint.paths.map((path) => ({
        op: "log" as const,
        path: path.path,
        checkpoint: checkpoint.id,
        generation: checkpoint.generation,
        request: checkpoint.request,
        before: path.before,
        after: path.after,
      })),
    ),
  );
  for (const path of paths) {
    const { text, sha256 } = (await own.run("read_path", { path })) as { text: string; sha256: string };
    appendHistory(main, [{ op: "end", path, sha256, marks: marksOf(text) }]);
  }
  own.close();
  await daemon.stop();
  return files;
}

/** The kinds the checker, run as the program it is, reports. */
async function verdict(files: readonly string[]): Promise<{ code: number | null; lines: string[] }> {
  const { code, stdout, stderr } = await runCommand(process.execPath, [...TSX, join(here, "check-history.ts"), ...files], {
    cwd: repo,
  });
  if (stderr !== "") throw new Error(stderr);
  return { code, lines: stdout.trim().split("\n") };
}

const kinds = (violations: readonly Violation[]): Set<string> => new Set(violations.map(({ kind }) => kind));

/** Seeded bugs as a faulty daemon would have left them in a history; each gives the kind that must be reported. */
const MUTANTS: readonly { readonly kind: Violation["kind"]; mutate(records: HistoryRecord[], at: number): HistoryRecord[] }[] = [
  {
    kind: "stale read",
    mutate(records, at) {
      // An answer from a cache: the content and generation that an earlier read of the path had had.
      const reads = records.filter((one) => one.op === "read").sort((a, b) => a.invoked - b.invoked);
      const late = reads.slice(Math.floor(reads.length / 2));
      const victim = late[at % late.length];
      const early = reads.find((one) => one.path === victim?.path && one.sha256 !== victim.sha256);
      if (victim === undefined || early === undefined) throw new Error("no two reads to mix up");
      return records.map((one) => (one === victim ? { ...one, sha256: early.sha256, generation: early.generation } : one));
    },
  },
  {
    kind: "lost update",
    mutate(records, at) {
      // A save that was let through although its path had changed: it expected what was there before the newest change.
      const log = records.filter((one) => one.op === "log").sort((a, b) => a.generation - b.generation);
      const plain = records.filter((one) => one.op === "save").filter((one) => !one.merged && one.expect !== "");
      for (let tried = 0; tried < plain.length; tried++) {
        const victim = plain[(at + tried) % plain.length];
        const own = log.find(({ request }) => request === victim?.request);
        const before = log.filter((one) => one.path === own?.path && one.generation < (own?.generation ?? 0)).at(-1);
        if (victim === undefined || before === undefined || before.before === "") continue;
        return records.map((one) => (one === victim ? { ...one, expect: before.before } : one));
      }
      throw new Error("no save to mutate");
    },
  },
  {
    kind: "early acknowledgement",
    mutate(records, at) {
      // A save that was acknowledged and is gone after the kill.
      const log = records.filter((one) => one.op === "log").filter(({ request }) => request !== "");
      const victim = log[at % log.length];
      return records.filter((one) => one !== victim);
    },
  },
];

describe("many clients on shared files", () => {
  it("G7: 4 processes of 16 connections lose no update, over a kill -9, and the checker finds seeded bugs", {
    timeout: 1_200_000,
  }, async () => {
    const wanted = proofCount("G7", { test: 1_280, proof: 12_800 });
    const random = chance("history");
    const files = await record({ processes: PROCESSES, connections: CONNECTIONS, saves: wanted, kill: true });
    const { code, lines } = await verdict(files);
    const counts = JSON.parse(lines.at(-1) ?? "{}") as {
      saves: number;
      reads: number;
      refused: number;
      violations: number;
    };
    const records = readHistory(files);
    const found = MUTANTS.filter(({ kind, mutate }) =>
      kinds(checkHistory(mutate([...records], random.int(2 ** 30))).violations).has(kind),
    ).map(({ kind }) => kind);
    reportProof({
      row: "G7",
      count: counts.saves,
      violations: counts.violations + (MUTANTS.length - found.length),
      seed: random.seed,
      reads: counts.reads,
      refused: counts.refused,
      mutants: found.join(", "),
    });
    expect(lines.slice(0, -1)).toEqual([]);
    expect([code, counts.saves]).toEqual([0, wanted]);
    expect(found).toEqual(MUTANTS.map(({ kind }) => kind));
    expect(records.filter(({ op }) => op === "killed")).toHaveLength(1);
    expect(records.filter((one) => one.op === "save" && one.merged).length).toBeGreaterThan(0);
  });

  it.each<[Fault, Violation["kind"]]>([
    ["stale read", "stale read"],
    ["lost update", "lost update"],
    ["early acknowledgement", "early acknowledgement"],
  ])("the checker reports a proxy that makes a %s", { timeout: 60_000 }, async (fault, kind) => {
    const files = await record({ processes: 1, connections: 8, saves: 80, kill: false, fault });
    const { code, lines } = await verdict(files);
    expect(code).toBe(1);
    expect(lines.filter((line) => line.startsWith(`${kind}: `)).length).toBeGreaterThan(0);
  });
});
