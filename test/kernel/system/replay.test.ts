// A public project's tree and its own successive changes, replayed by two agents and an editor. GIN_TEST_PROJECT names a Git repository (bare
// or not) of a project with 5,000 files or more: then two hundred changes are replayed. Without it the history of this repository has to do.
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { EngineError, type JsonObject } from "../../../src/clients/sdk/index.ts";
import { diffLines, splitLines } from "../../../src/daemon/history/index.ts";
import { startDaemon } from "../../helpers/daemon.ts";
import { runCommand } from "../../helpers/process.ts";
import { chance } from "../../helpers/random.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir } from "../../helpers/temp.ts";
import { logOf } from "./log.ts";
import { PatientClient } from "./patient.ts";
import { type Change, type FileChange, Project } from "./project-history.ts";

const GIVEN = process.env.GIN_TEST_PROJECT;
const CHANGES = GIVEN === undefined ? 40 : 200;
const LEAST_FILES = GIVEN === undefined ? 300 : 5_000;
/** Files whose lines' origins are compared one by one. */
const ORIGINS = GIVEN === undefined ? 40 : 150;
const ACTORS = ["agent-a", "agent-b", "editor"] as const;
type Actor = (typeof ACTORS)[number];

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** One replayed change: who made it, and the checkpoint it is. */
interface Replayed {
  readonly actor: Actor;
  readonly change: Change;
  readonly checkpoint: string;
}

it("the origin, log and diff agree with what was replayed, and undoing one agent leaves the others' work", {
  timeout: 1_800_000,
}, async (ctx) => {
  const project = new Project(GIVEN ?? repo);
  const history = await project.history(CHANGES).catch(() => undefined);
  if (history === undefined || history.changes.length < CHANGES)
    return ctx.skip(`needs ${CHANGES} changes of history: name a Git repository in GIN_TEST_PROJECT`);
  const random = chance("replay");
  const place = tempDir("replay");
  const [root, host] = [join(place, "tree"), join(place, "host")];
  mkdirSync(host, { mode: 0o700 });
  await project.checkOut(history.start, root);
  const files = await project.tree(history.start);
  expect(files.size).toBeGreaterThanOrEqual(LEAST_FILES);
  const daemon = await startDaemon({ host, root, args: ["--listen", "none"], env: { XDG_RUNTIME_DIR: tempDir("run") } });
  const owner = new PatientClient(daemon.ready.socket, "owner");
  const agents = new Map(ACTORS.map((name) => [name, new PatientClient(daemon.ready.socket, name)]));
  const settle = async (): Promise<string> => {
    for (;;) {
      try {
        const answer = await owner.run("diff", { from: "head", to: "head", summary: true });
        return String((answer.state as JsonObject).head);
      } catch (thrown) {
        if (!(thrown instanceof EngineError) || thrown.detail.reason !== "NOT_READY") throw thrown;
        await wait(thrown.detail.retryAfterMs || 50);
      }
    }
  };
  await settle();

  const replayed: Replayed[] = [];
  const blobs = new Map<string, Buffer>();
  const blob = async (id: string): Promise<Buffer> => {
    const known = blobs.get(id);
    if (known !== undefined) return known;
    const read = await project.blob(id);
    blobs.set(id, read);
    return read;
  };
  for (const [index, change] of history.changes.entries()) {
    if (change.files.length === 0) continue;
    const actor = random.pick(ACTORS);
    if (actor === "editor") {
      for (const file of change.files) await editOutside(root, file, blob, random.maybe(0.5));
      replayed.push({ actor, change, checkpoint: await settle() });
      continue;
    }
    const edits: JsonObject[] = [];
    for (const { path, before, after, executable } of change.files) {
      const expectation = before === "" ? "absent" : sha(await blob(before));
      if (after === "") edits.push({ path, expect: expectation, delete: true });
      else edits.push({ path, expect: expectation, data: (await blob(after)).toString("base64"), executable });
    }
    const answer = await agents.get(actor)?.run("save", { request_id: `replay-${index}`, message: change.commit, edits });
    replayed.push({ actor, change, checkpoint: String(answer?.checkpoint) });
  }

  // The disk is the end of the history.
  const end = await project.tree(history.end);
  const faults: string[] = [];
  for (const [path, { blob: id, executable }] of end) {
    const at = join(root, path);
    if (!existsSync(at)) faults.push(`${path} is not on the disk`);
    else if (replayed.some((one) => one.change.files.some((file) => file.path === path))) {
      if (sha(readFileSync(at)) !== sha(await blob(id))) faults.push(`${path} is not as the project has it`);
    }
    void executable;
  }

  // The log: each change is one checkpoint with its paths and its hashes.
  const log = new Map((await logOf(owner)).map((entry) => [entry.id, entry]));
  for (const { actor, change, checkpoint } of replayed) {
    const entry = log.get(checkpoint);
    if (entry === undefined) {
      faults.push(`${change.commit} of ${actor} is not in the log`);
      continue;
    }
    if ((entry.cause === "CAUSE_EXTERNAL") !== (actor === "editor"))
      faults.push(`${change.commit} of ${actor} is ${entry.cause}`);
    const wanted = new Map<string, string>();
    for (const { path, after } of change.files) wanted.set(path, after === "" ? "" : sha(await blob(after)));
    const found = new Map(entry.paths.map((one) => [one.path, one.after]));
    for (const [path, after] of wanted) if (found.get(path) !== after) faults.push(`${change.commit}: ${path} in the log`);
    for (const path of found.keys()) if (!wanted.has(path)) faults.push(`${change.commit}: the log adds ${path}`);
  }

  // The diff: its patch makes the end of the start.
  const copy = join(place, "copy");
  await project.checkOut(history.start, copy);
  await runCommand("git", ["init", "-q", copy]);
  let patch = "";
  let cursor = "";
  const without = new Set<string>();
  do {
    const page = await owner.run("diff", { from: "base", to: "head", cursor, limit: 1_000_000 });
    for (const file of page.files as JsonObject[]) {
      patch += String(file.patch);
      if (file.no_patch !== "") without.add(String(file.path));
    }
    cursor = String(page.next_cursor);
  } while (cursor !== "");
  const applied = await runCommand("git", ["apply", "--whitespace=nowarn", "-"], { cwd: copy, input: patch });
  if (applied.code !== 0) faults.push(`git apply: ${applied.stderr.slice(0, 500)}`);
  const touched = new Set(replayed.flatMap((one) => one.change.files.map((file) => file.path)));
  for (const path of touched) {
    if (without.has(path)) continue;
    const [there, made] = [join(root, path), join(copy, path)];
    if (existsSync(there) !== existsSync(made)) faults.push(`${path} is not as the patch has it`);
    else if (existsSync(there) && !readFileSync(there).equals(readFileSync(made))) faults.push(`${path} differs after git apply`);
  }

  // Origin: line by line what a model says that carries each version's lines on.
  const expected = await modelOf(replayed, blob);
  const texts = [...touched].filter((path) => existsSync(join(root, path)) && expected.get(path) !== undefined).slice(0, ORIGINS);
  let lines = 0;
  for (const path of texts) {
    const found = await originOf(owner, path);
    const wanted = expected.get(path) ?? [];
    lines += wanted.length;
    for (const [at, checkpoint] of wanted.entries()) {
      const same = checkpoint === "" ? found[at]?.cause === "CAUSE_IMPORT" : found[at]?.checkpoint === checkpoint;
      if (same) continue;
      faults.push(`${path}:${at + 1} is of ${found[at]?.checkpoint}, not of ${checkpoint || "the import"}`);
      break;
    }
  }

  // One agent is undone as far as nobody stands in the way: no line of the others goes.
  const before = await othersLines(owner, root, texts, "agent-a");
  const undone = await owner.run("undo", {
    request_id: "undo-a",
    select: { principal: "agent-a", since: "start" },
    skip_conflicts: true,
  });
  const after = await othersLines(owner, root, texts, "agent-a");
  for (const [key, count] of before) if ((after.get(key) ?? 0) < count) faults.push(`undo took lines of ${key}`);
  const outcomes = new Map<string, number>();
  for (const one of (undone.paths ?? []) as JsonObject[])
    outcomes.set(String(one.outcome), (outcomes.get(String(one.outcome)) ?? 0) + 1);
  console.log(
    JSON.stringify({
      files: files.size,
      changes: replayed.length,
      paths: touched.size,
      origins: texts.length,
      lines,
      undo: Object.fromEntries(outcomes),
    }),
  );
  owner.close();
  for (const client of agents.values()) client.close();
  await daemon.stop();
  expect(faults).toEqual([]);
  expect(lines).toBeGreaterThan(1_000);
  return undefined;
});

async function editOutside(
  root: string,
  file: FileChange,
  blob: (id: string) => Promise<Buffer>,
  inPlace: boolean,
): Promise<void> {
  const at = join(root, file.path);
  if (file.after === "") {
    rmSync(at);
    return;
  }
  mkdirSync(dirname(at), { recursive: true });
  const bytes = await blob(file.after);
  const target = inPlace ? at : `${at}.editing~`;
  writeFileSync(target, bytes);
  chmodSync(target, file.executable ? 0o755 : 0o644);
  if (!inPlace) renameSync(target, at);
}

/** For each file that is text in all its versions: the checkpoint of each line, "" for the import. */
async function modelOf(
  replayed: readonly Replayed[],
  blob: (id: string) => Promise<Buffer>,
): Promise<Map<string, string[] | undefined>> {
  const lines = new Map<string, string[] | undefined>();
  for (const { change, checkpoint } of replayed) {
    for (const { path, before, after } of change.files) {
      const [from, to] = [before === "" ? undefined : await blob(before), after === "" ? undefined : await blob(after)];
      if (to === undefined) {
        lines.delete(path);
        continue;
      }
      if (to.includes(0) || from?.includes(0) === true) {
        lines.set(path, undefined);
        continue;
      }
      if (lines.has(path) && lines.get(path) === undefined) continue;
      const old = from === undefined ? [] : (lines.get(path) ?? Array.from({ length: splitLines(from).count }, () => ""));
      if (from?.equals(to) === true) {
        lines.set(path, old);
        continue;
      }
      lines.set(path, carried(old, from, to, checkpoint));
    }
  }
  return lines;
}

function carried(old: readonly string[], from: Buffer | undefined, to: Buffer, checkpoint: string): string[] {
  if (from === undefined) return Array.from({ length: splitLines(to).count }, () => checkpoint);
  const made: string[] = [];
  let at = 0;
  for (const edit of diffLines(from, to)) {
    made.push(...old.slice(at, edit.aStart));
    for (let line = edit.bStart; line < edit.bEnd; line++) made.push(checkpoint);
    at = edit.aEnd;
  }
  made.push(...old.slice(at));
  return made;
}

interface LineOrigin {
  readonly checkpoint: string;
  readonly cause: string;
  readonly principal: string;
}

async function originOf(client: PatientClient, path: string): Promise<LineOrigin[]> {
  const found: LineOrigin[] = [];
  let cursor = "";
  do {
    const page = await client.run("origin", { path, cursor, limit: 1_000 });
    for (const span of page.spans as JsonObject[]) {
      const origin = span.origin as unknown as LineOrigin;
      for (let line = Number(span.start_line); line <= Number(span.end_line); line++) found.push(origin);
    }
    cursor = String(page.next_cursor);
  } while (cursor !== "");
  return found;
}

/** How many lines of each file are of each checkpoint that is not this principal's. */
async function othersLines(
  client: PatientClient,
  root: string,
  paths: readonly string[],
  principal: string,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!existsSync(join(root, path))) continue;
    for (const origin of await originOf(client, path)) {
      if (origin.principal === principal) continue;
      const key = `${path} by ${origin.checkpoint}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}
