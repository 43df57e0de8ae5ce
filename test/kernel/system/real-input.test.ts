// What counts as an outside edit that must be found again: one that is still on disk at the end, and every one that was gone from its path
// when the next outside editor of that path came (editors of one path take turns here), because then only gin can have replaced it. One that
// the next outside editor found in place and replaced itself is that editor's doing. Whatever gin displaced is counted without exception.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { Bell } from "../../helpers/bell.ts";
import { startDaemon } from "../../helpers/daemon.ts";
import { runCommand } from "../../helpers/process.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";
import { type LoggedCheckpoint, logOf } from "./log.ts";
import { EDITORS, hashOf, OutsideEditors } from "./outside-edits.ts";
import { PatientClient, sha } from "./patient.ts";
import { SavingClient } from "./real-saves.ts";
import { isPlainText, LEAST_FILES, makeRealTree } from "./real-tree.ts";

/** Edits of each outside editor, kills of the daemon, files everybody works on, files that outside editors work on as well. */
const EDITS = scaled(100);
const KILLS = 10;
const SHARED = 24;
const OTHERS = 200;

/** Warnings and errors in the daemon's log. */
function logged(host: string): string {
  const lines = readFileSync(join(host, "logs", "daemon.log"), "utf8").split("\n");
  return lines.filter((line) => /"level":[4-6]0/.test(line)).join("\n");
}

it("a tree of npm packages: whatever editors do beside two clients and ten kills, every save and every edit is there or in history", {
  timeout: 600_000,
}, async (ctx) => {
  for (const program of ["vim", "sed", "git"]) {
    const found = await runCommand("sh", ["-c", `command -v ${program}`]);
    if (found.code !== 0) return ctx.skip(`needs ${program}`);
  }
  const random = chance("real input");
  const place = tempDir("real");
  const tree = join(place, "tree");
  const scratch = join(place, "scratch");
  const host = join(place, "host");
  for (const directory of [tree, scratch, host]) mkdirSync(directory, { mode: 0o700 });
  const files = await makeRealTree(tree);
  expect(files.length).toBeGreaterThanOrEqual(LEAST_FILES);
  const texts = new Set<string>();
  while (texts.size < SHARED + OTHERS) {
    const path = random.pick(files);
    if (isPlainText(tree, path)) texts.add(path);
  }
  const shared = [...texts].slice(0, SHARED);

  const env = { XDG_RUNTIME_DIR: tempDir("run") };
  const start = () => startDaemon({ host, root: tree, args: ["--listen", "none"], env });
  let daemon = await start();
  let up = Promise.resolve();
  const outside = new OutsideEditors(tree, scratch, random);
  const steps = new Bell();
  const clients = ["one", "two"].map((name) => new SavingClient(name, daemon.ready.socket, random, shared, steps.ring));
  const saved = () => clients.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  let kills = 0;
  let over = false;

  const editing = EDITORS.map(async (editor) => {
    for (let done = 0; done < EDITS && !over; done++) {
      // Most edits while a daemon serves, some while none does.
      if (random.maybe(0.8)) await up;
      // Not so fast that gin never meets what they do.
      await steps.until(() => over || saved() >= outside.edits.length * 0.5);
      await outside.edit(editor, random.maybe(0.7) ? shared : [...texts], () => over);
      steps.ring();
    }
  });
  const killing = async (): Promise<void> => {
    const moments = Array.from({ length: KILLS }, () => random.int(EDITS * EDITORS.length * 0.9)).sort((a, b) => a - b);
    for (const moment of moments) {
      // Some kills come right after a start, most when saves have been made since.
      const before = saved() + random.int(20);
      await steps.until(() => over || (outside.edits.length >= moment && saved() >= before));
      if (over) return;
      await wait(random.int(150));
      up = daemon.kill().then(async () => {
        daemon = await start();
      });
      await up;
      kills++;
    }
  };
  const saving = clients.map((client) => client.run(() => over));
  const beside = Promise.all([...editing, killing()]);
  // Whoever fails ends the others, and all have ended before anything is judged or removed.
  await Promise.race([beside, ...saving]).catch(() => {});
  over = true;
  steps.ring();
  const ends = await Promise.allSettled([...saving, beside]);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined)
    throw new Error(`failed beside this log of the daemon:\n${logged(host)}`, {
      cause: failed.reason,
    });

  // An orderly end looks once more at what was displaced; the next start finds what was edited last.
  await daemon.stop();
  const temps = readdirSync(tree, { recursive: true, encoding: "utf8" }).filter((path) => path.includes(".gin-tmp-"));
  daemon = await start();
  const own = new PatientClient(daemon.ready.socket, "person");
  const faults: string[] = [];
  for (const path of texts) {
    const read = await own.run("read_path", { path, content: false });
    if (read.sha256 !== hashOf(join(tree, path))) faults.push(`${path} is read as something else than is on disk`);
  }
  const log = await logOf(own);
  const kept = new Map<string, { path: string; checkpoint: string }>();
  const byRequest = new Map<string, LoggedCheckpoint[]>();
  for (const entry of log) {
    if (entry.pathCount !== entry.paths.length)
      faults.push(`${entry.id} names ${entry.paths.length} of ${entry.pathCount} paths`);
    for (const { path, after } of entry.paths) kept.set(after, { path, checkpoint: entry.id });
    if (entry.cause === "CAUSE_SAVE" && entry.request !== "")
      byRequest.set(entry.request, [...(byRequest.get(entry.request) ?? []), entry]);
  }
  const contentAt = async (path: string, snapshot: string): Promise<Buffer> => {
    const read = await own.run("read_path", { path, snapshot, limit: 1_048_576 });
    return typeof read.data === "string" ? Buffer.from(read.data, "base64") : Buffer.from(String(read.text));
  };

  for (const { request, checkpoint, paths } of clients.flatMap(({ acknowledged }) => acknowledged)) {
    for (const { path, sha256, mark } of paths) {
      const bytes = await contentAt(path, checkpoint);
      if (sha(bytes) !== sha256 || !bytes.includes(mark))
        faults.push(`${request}: ${path} is not in its checkpoint as acknowledged`);
    }
  }
  const acknowledged = new Set(clients.flatMap((client) => client.acknowledged.map(({ request }) => request)));
  for (const request of clients.flatMap(({ requests }) => requests)) {
    const { outcome } = (await own.run("request_outcome", {
      target_request_id: request,
      principal: `agent/${request.split("-")[0]}`,
    })) as { outcome: string } & JsonObject;
    const wanted = acknowledged.has(request) ? "OUTCOME_COMMITTED" : "OUTCOME_REJECTED";
    if (outcome !== wanted) faults.push(`${request}: its outcome is ${outcome}, not ${wanted}`);
    // A save whose outside edits raced it has more than one checkpoint under its id; the first is its own.
    if (!acknowledged.has(request) && byRequest.has(request)) faults.push(`${request}: refused and in the log`);
  }
  const fates = { last: 0, overwritten: 0, displaced: 0 };
  for (const { editor, path, sha256, fate } of outside.edits) {
    fates[fate]++;
    if (fate === "overwritten" || hashOf(join(tree, path)) === sha256) continue;
    const at = kept.get(sha256);
    if (at === undefined || sha(await contentAt(at.path, at.checkpoint)) !== sha256)
      faults.push(`${editor} on ${path}: its bytes are neither on disk nor in history`);
  }
  own.close();
  await daemon.stop();
  console.log(
    JSON.stringify({
      files: files.length,
      saves: acknowledged.size,
      refused: clients.reduce((sum, { refused }) => sum + refused.length, 0),
      lost: clients.reduce((sum, { lost }) => sum + lost, 0),
      checkpoints: log.length,
      kills,
      ...fates,
    }),
  );
  expect(faults).toEqual([]);
  expect(temps).toEqual([]);
  expect(kills).toBe(KILLS);
  for (const editor of EDITORS) expect(outside.edits.filter((edit) => edit.editor === editor).length).toBe(EDITS);
  // Else nothing of the above was tried.
  expect(fates.displaced).toBeGreaterThan(EDITS / 4);
  expect(acknowledged.size).toBeGreaterThan(EDITS);
  return undefined;
});
