// A public project's tree and its own successive changes, replayed by two agents and an editor. GIN_TEST_PROJECT names a Git repository (bare
// or not) of a project with 5,000 files or more: then two hundred changes are replayed. Without it the history of this repository has to do.
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
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
import { generationOf, PatientClient } from "./patient.ts";
import { type Change, type FileChange, Project } from "./project-history.ts";

const GIVEN = process.env.GIN_TEST_PROJECT;
const CHANGES = GIVEN === undefined ? 40 : 200;
const LEAST_FILES = GIVEN === undefined ? 300 : 5_000;
/** Files whose lines' origins are compared one by one. */
const ORIGINS = GIVEN === undefined ? 40 : 150;
const ACTORS = ["agent-a", "agent-b", "editor"] as const;
type Actor = (typeof ACTORS)[number];

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** One replayed change: who made it, and the generations it took: one of an agent, as many as it was seen in of an editor. */
interface Replayed {
  readonly actor: Actor;
  readonly change: Change;
  readonly from: number;
  readonly to: number;
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
  const settle = async (): Promise<number> => {
    for (;;) {
      try {
        const answer = await owner.run("diff", { from: "head", to: "head", summary: true });
        return generationOf(answer);
      } catch (thrown) {
        if (!(thrown instanceof EngineError) || thrown.detail.reason !== "NOT_READY") throw thrown;
        await wait(thrown.detail.retryAfterMs || 50);
      }
    }
  };
  let generation = await settle();

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
      for (const file of change.files) await editOutside(root, join(place, "scratch"), file, blob);
      const to = await settle();
      replayed.push({ actor, change, from: generation + 1, to });
      generation = to;
      continue;
    }
    const edits: JsonObject[] = [];
    for (const { path, before, after, executable } of change.files) {
      const expectation = before === "" ? "absent" : sha(await blob(before));
      if (after === "") edits.push({ path, expect: expectation, delete: true });
      else edits.push({ path, expect: expectation, data: (await blob(after)).toString("base64"), executable });
    }
    const answer = await agents.get(actor)?.run("save", { request_id: `replay-${index}`, message: change.commit, edits });
    const to = generationOf(answer ?? {});
    replayed.push({ actor, change, from: generation + 1, to });
    generation = to;
  }

  // The disk is the end of the history.
  const end = await project.tree(history.end);
  const faults: string[] = [];
  for (const [path, { blob: id, executable }] of end) {
    const at = join(root, path);
    if (!existsSync(at)) faults.push(`${path} is not on the disk`);
    else if (replayed.some((one) => one.change.files.some((file) => file.path === path))) {
      if (sha(readFileSync(at)) !== sha(await blob(id))) faults.push(`${path} is not as the project has it`);
      if (((statSync(at).mode & 0o100) !== 0) !== executable) faults.push(`${path} is executable or not, unlike in the project`);
    }
  }

  // The log: each change with its paths and its hashes, an agent's in one checkpoint.
  const log = new Map((await logOf(owner)).map((entry) => [entry.generation, entry]));
  /** Which checkpoint a path was changed in, by the change. */
  const made = new Map<Replayed, Map<string, string>>();
  for (const one of replayed) {
    const { actor, change, from, to } = one;
    const found = new Map<string, { readonly after: string; readonly checkpoint: string }>();
    for (let at = from; at <= to; at++) {
      const entry = log.get(at);
      if (entry === undefined) faults.push(`generation ${at} is not in the log`);
      else if ((entry.cause === "CAUSE_EXTERNAL") !== (actor === "editor"))
        faults.push(`${change.commit} of ${actor} is ${entry.cause}`);
      for (const { path, after } of entry?.paths ?? []) found.set(path, { after, checkpoint: entry?.id ?? "" });
    }
    if (actor !== "editor" && from !== to) faults.push(`${change.commit} of ${actor} took ${to - from + 1} generations`);
    for (const { path, after } of change.files) {
      const wanted = after === "" ? "" : sha(await blob(after));
      if (found.get(path)?.after !== wanted) faults.push(`${change.commit} of ${actor}: ${path} in the log`);
    }
    for (const path of found.keys())
      if (!change.files.some((file) => file.path === path)) faults.push(`${change.commit}: the log adds ${path}`);
    made.set(one, new Map([...found].map(([path, { checkpoint }]) => [path, checkpoint])));
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
  const expected = await modelOf(replayed, made, blob);
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

  // One agent is undone as far as nobody stands in the way: lines of its own go, and no line of the others does.
  const before = await linesOf(owner, root, texts);
  const undone = await owner.run("undo", {
    request_id: "undo-a",
    select: { principal: "agent-a", since: "start" },
    skip_conflicts: true,
  });
  const after = await linesOf(owner, root, texts);
  const written = await writtenBy("agent-a", replayed, blob);
  for (const [path, lines] of before) faults.push(...lost(path, lines, after.get(path) ?? [], written.get(path) ?? []));
  const own = [before, after].map((all) => [...all.values()].flat().filter(({ principal }) => principal === "agent-a").length);
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
      ownLines: own,
    }),
  );
  owner.close();
  for (const client of agents.values()) client.close();
  await daemon.stop();
  expect(faults).toEqual([]);
  expect(lines).toBeGreaterThan(1_000);
  expect(outcomes.get("UNDONE_OUTCOME_REVERSED") ?? 0).toBeGreaterThan(0);
  expect(own[1]).toBeLessThan(own[0] ?? 0);
  return undefined;
});

/** As editors save: another file takes its place. What is written in place may be seen half written, and is then two changes. */
async function editOutside(
  root: string,
  scratch: string,
  file: FileChange,
  blob: (id: string) => Promise<Buffer>,
): Promise<void> {
  const at = join(root, file.path);
  if (file.after === "") {
    rmSync(at);
    return;
  }
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(scratch, await blob(file.after));
  chmodSync(scratch, file.executable ? 0o755 : 0o644);
  renameSync(scratch, at);
}

/** For each file that is text in all its versions: the checkpoint of each line, "" for the import. */
async function modelOf(
  replayed: readonly Replayed[],
  made: ReadonlyMap<Replayed, ReadonlyMap<string, string>>,
  blob: (id: string) => Promise<Buffer>,
): Promise<Map<string, string[] | undefined>> {
  const lines = new Map<string, string[] | undefined>();
  for (const one of replayed) {
    for (const { path, before, after } of one.change.files) {
      const checkpoint = made.get(one)?.get(path) ?? "";
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

/** A line as it stands on disk, and who it is of. */
interface Line extends LineOrigin {
  readonly text: string;
}

/** The lines of each file that is there. */
async function linesOf(client: PatientClient, root: string, paths: readonly string[]): Promise<Map<string, Line[]>> {
  const found = new Map<string, Line[]>();
  for (const path of paths) {
    if (!existsSync(join(root, path))) continue;
    const texts = readFileSync(join(root, path), "utf8").split("\n");
    found.set(
      path,
      (await originOf(client, path)).map((origin, at) => ({ ...origin, text: texts[at] ?? "" })),
    );
  }
  return found;
}

/** The lines that an agent's changes put into each path. */
async function writtenBy(
  agent: Actor,
  replayed: readonly Replayed[],
  blob: (id: string) => Promise<Buffer>,
): Promise<Map<string, string[]>> {
  const written = new Map<string, string[]>();
  for (const { path, before, after } of replayed.flatMap(({ actor, change }) => (actor === agent ? change.files : []))) {
    const [from, to] = [before === "" ? Buffer.alloc(0) : await blob(before), after === "" ? Buffer.alloc(0) : await blob(after)];
    const texts = to.toString().split("\n");
    const made = diffLines(from, to).flatMap(({ bStart, bEnd }) => texts.slice(bStart, bEnd));
    written.set(path, [...(written.get(path) ?? []), ...made]);
  }
  return written;
}

/**
 * What the undo of agent-a took of others in a file: lines of a text, or of a checkpoint. An undo is a three-way merge, whose verdict is by text: what others changed and
 * then wrote again as agent-a had `written` it is taken back with it, and of equal lines either may be the one that stays. So of such a text as many may go
 * as agent-a wrote, and checkpoints are counted for all others.
 */
function lost(path: string, before: readonly Line[], after: readonly Line[], written: readonly string[]): string[] {
  const there = grouped(after, ({ text }) => text);
  const faults: string[] = [];
  for (const [text, lines] of grouped(before, ({ text }) => text)) {
    const others = lines.filter(({ principal }) => principal !== "agent-a");
    const left = there.get(text) ?? [];
    const own = written.filter((one) => one === text).length;
    if (left.length < others.length - own) faults.push(`undo took "${text}" of ${path}, by ${others[0]?.checkpoint}`);
    if (own > 0) continue;
    for (const [checkpoint, was] of grouped(lines, (line) => line.checkpoint))
      if (left.filter((line) => line.checkpoint === checkpoint).length < was.length)
        faults.push(`undo took "${text}" of ${path} from ${checkpoint}`);
  }
  return faults;
}

function grouped(lines: readonly Line[], by: (line: Line) => string): Map<string, Line[]> {
  const found = new Map<string, Line[]>();
  for (const line of lines) found.set(by(line), [...(found.get(by(line)) ?? []), line]);
  return found;
}
