import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { LspResponse } from "../../src/gen/gin/v1/lsp_pb.ts";
import { git } from "../helpers/lsp/projects.ts";
import type { Question, Reply } from "./host.ts";
import { numbersIn, planted, type Subject, usesIn } from "./subjects.ts";
import { type Edited, WAYS, type WayName } from "./ways.ts";

/** Milliseconds after an edit from which on a server has no excuse. */
const LATE_MS = 2_000;

/** What a server's rounds came to. */
export interface Tally {
  rounds: number;
  /** Answers that were right, and those that said that they may not be whole. */
  right: number;
  partial: number;
  /** Answers in which the server itself says that it failed over this content. */
  failed: number;
  /** Each a sentence. */
  readonly wrong: string[];
  /** Questions asked at once and refused as NOT_READY. */
  readonly notReadyAtOnce: string[];
  late: number;
  /** Of the late ones, those refused as NOT_READY: each a sentence. */
  readonly lateNotReady: string[];
}

/** A subject in a workspace that is prepared for it. */
export interface Prepared extends Subject {
  /** What its files held before anything was planted, by path. */
  readonly bases: ReadonlyMap<string, string>;
  /** Every path where its target may be named. */
  readonly named: readonly string[];
}

/** Plants a first edit in every subject's slots, and others in a branch of git for each of `branches`. */
export async function prepare(root: string, subjects: readonly Subject[], branches: readonly string[]): Promise<Prepared[]> {
  const found = subjects.map((subject) => ({ subject, bases: basesOf(root, subject) }));
  const plant = (number: (at: number) => number, count: (at: number) => number): void => {
    for (const { subject, bases } of found)
      for (const [at, [slot, base]] of [...bases].entries()) write(root, slot, planted(subject, base, number(at), count(at)));
  };
  for (const { target } of subjects) if (target !== undefined) write(root, target.path, target.text);
  plant(
    (at) => 1 + at,
    () => 1,
  );
  await git(root, "init", "-q", "-b", "main");
  await git(root, "add", "-A");
  await git(root, "commit", "-q", "-m", "first");
  for (const [index, branch] of branches.entries()) {
    await git(root, "checkout", "-q", "-b", branch, "main");
    plant(
      (at) => 1_000_000 + index * 100 + at,
      (at) => 1 + ((index + at) % 4),
    );
    await git(root, "commit", "-q", "-a", "-m", branch);
  }
  await git(root, "checkout", "-q", "main");
  return found.map(({ subject, bases }) => ({
    ...subject,
    bases,
    named: subject.target === undefined ? [] : [subject.target.path, ...bases.keys()],
  }));
}

function basesOf(root: string, { slots, own }: Subject): Map<string, string> {
  const paths =
    slots instanceof RegExp
      ? filesOf(root)
          .filter((path) => slots.test(path))
          .slice(0, 10)
      : slots;
  if (paths.length < 5) throw new Error(`only ${paths.length} files for ${slots}`);
  return new Map(paths.map((path) => [path, own?.(path) ?? readFileSync(join(root, path), "utf8")]));
}

const filesOf = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();

/** What rounds are run with. */
export interface Course {
  readonly at: Edited;
  readonly subjects: readonly Prepared[];
  readonly ask: (question: Question) => Promise<Reply>;
  readonly rounds: number;
  /** Milliseconds after an edit at which it is asked about again; 2,000. */
  readonly lateMs?: number;
  /** Ends the rounds before their number. */
  readonly enough?: () => boolean;
}

/**
 * Edits files in every way in turn, and after each edit asks every kind of question at once; and again when two seconds have passed. All subjects at
 * the same time. What is right is read from the files as they are then: nobody else edits a subject's own.
 */
export function runRounds(course: Course): Promise<readonly Tally[]> {
  return Promise.all(course.subjects.map((subject) => roundsOf(course, subject)));
}

async function roundsOf(course: Course, subject: Prepared): Promise<Tally> {
  const tally = emptyTally();
  const due: { readonly slot: string; readonly editedMs: number }[] = [];
  const ways = Object.keys(WAYS) as WayName[];
  const slots = [...subject.bases.keys()];
  const late = async (): Promise<void> => {
    const next = due.shift();
    if (next === undefined) return;
    await wait(Math.max(0, (course.lateMs ?? LATE_MS) - (performance.now() - next.editedMs)));
    await askAll(course, tally, subject, next.slot, "later");
  };
  for (let round = 0; round < course.rounds && course.enough?.() !== true; round++) {
    const slot = slots[round % slots.length] ?? "";
    const way = ways[(round + Math.floor(round / ways.length)) % ways.length] ?? "save";
    // Its edit before must have been asked about.
    while (due.some((one) => one.slot === slot)) await late();
    const number = 100 + round;
    const text = planted(subject, subject.bases.get(slot) ?? "", number, 1 + (number % 5));
    await WAYS[way](course.at, slot, text, round);
    const editedMs = performance.now();
    await askAll(course, tally, subject, slot, `at once after ${way}`);
    due.push({ slot, editedMs });
  }
  while (due.length > 0) await late();
  return tally;
}

const emptyTally = (): Tally => ({
  rounds: 0,
  right: 0,
  partial: 0,
  failed: 0,
  wrong: [],
  notReadyAtOnce: [],
  late: 0,
  lateNotReady: [],
});

async function askAll({ at, ask }: Course, tally: Tally, subject: Prepared, slot: string, when: string): Promise<void> {
  const { server, target } = subject;
  const text = readFileSync(join(at.root, slot), "utf8");
  const questions: { readonly question: Question; readonly judge: (answer: LspResponse) => string | undefined }[] =
    subject.shows.map((action) => ({
      question: { action, path: slot, pageSize: 1_000 },
      judge: (answer) => judgeNumbers(answer, slot, text),
    }));
  if (target !== undefined) {
    const expected = usesOver(at.root, subject.named);
    const { path, line, character } = target;
    questions.push({
      question: { action: "references", path, line, character, pageSize: 1_000 },
      judge: (answer) => judgeReferences(answer, expected),
    });
  }
  tally.rounds += 1;
  const isLate = when === "later";
  if (isLate) tally.late += 1;
  for (const { question, judge } of questions) {
    const reply = await ask({ ...question, workspace: at.workspace, server, timeoutMs: 20_000 });
    const what = `${server} ${question.action} of ${question.path}, ${when} (edit ${numbersIn(text)})`;
    if (reply.answer === undefined) {
      if (reply.refused !== "NOT_READY") tally.wrong.push(`${what}: ${reply.refused} ${reply.message}`);
      else if (isLate) tally.lateNotReady.push(`${what}: ${reply.state} ${reply.message}`);
      else tally.notReadyAtOnce.push(`${what}: ${reply.state} ${reply.message}`);
      continue;
    }
    const error = judge(reply.answer);
    if (error === undefined) tally.right += 1;
    else if (hasFailed(reply.answer)) tally.failed += 1;
    // It says that it does not know everything: that is no lie.
    else if (reply.answer.partial && question.action === "references" && lessThan(reply.answer, error)) tally.partial += 1;
    else tally.wrong.push(`${what}: ${error}${reply.answer.partial ? ` (partial: ${reply.answer.note})` : ""}`);
  }
}

/** What pyflakes says when the parser of Python 3.11.2 stumbles over itself in two threads (CPython issue 106905): no list, but no list of this text. */
const hasFailed = ({ diagnostics }: LspResponse): boolean =>
  diagnostics.some((file) => file.diagnostics.some(({ message }) => message === "problem decoding source"));

/** Whether a partial answer is only short of some: every place it names holds the name. */
function lessThan(answer: LspResponse, error: string): boolean {
  return error.startsWith("found ") && answer.locations.every(({ excerpt }) => usesIn(excerpt) > 0);
}

function judgeNumbers(answer: LspResponse, slot: string, text: string): string | undefined {
  const expected = numbersIn(text);
  const hash = createHash("sha256").update(text).digest("hex");
  if (answer.action === "symbols") {
    if (answer.sha256 !== hash) return "it is of another content";
    const named = numbersIn(answer.symbols.map(({ name }) => name).join(" "));
    return String(named) === String(expected) ? undefined : `named ${named} of ${expected}`;
  }
  const [file, ...more] = answer.diagnostics;
  if (file === undefined || more.length > 0 || file.path !== slot) return `told of ${answer.diagnostics.map(({ path }) => path)}`;
  if (file.reason !== "") return `no diagnostics: ${file.reason} ${file.reasonMessage}`;
  if (file.sha256 !== hash) return "it is of another content";
  const named = numbersIn(file.diagnostics.map(({ message }) => message).join(" "));
  return String(named) === String(expected) ? undefined : `named ${named} of ${expected}`;
}

function judgeReferences(answer: LspResponse, expected: number): string | undefined {
  const strange = answer.locations.find(({ excerpt }) => usesIn(excerpt) === 0);
  if (strange !== undefined) return `a reference at ${strange.path}:${strange.span?.start?.line} which does not hold the name`;
  return answer.total === expected ? undefined : `found ${answer.total} of ${expected} references`;
}

const usesOver = (root: string, paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + usesIn(readFileSync(join(root, path), "utf8")), 0);

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
