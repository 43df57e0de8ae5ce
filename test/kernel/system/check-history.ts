// Judges history files: `node --import tsx test/kernel/system/check-history.ts FILE…`. Every answer carries the workspace's generation, so
// strict serializability is checked by that one order instead of a search for one. Exit status 1 when anything is wrong.
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type HistoryRecord, readHistory, type SaveRecord } from "./history.ts";

/** What is wrong, by the promise that is broken. */
export interface Violation {
  readonly kind:
    | "early acknowledgement"
    | "lost update"
    | "stale read"
    | "real-time order"
    | "shared generation"
    | "phantom save"
    | "refused save took effect";
  readonly text: string;
}

/** A verdict with the counts it rests on. */
export interface Verdict {
  readonly saves: number;
  readonly reads: number;
  readonly refused: number;
  readonly violations: readonly Violation[];
}

type LogRecord = Extract<HistoryRecord, { op: "log" }>;
type ReadRecord = Extract<HistoryRecord, { op: "read" }>;
type Report = (kind: Violation["kind"], text: string) => void;

const ofOp = <K extends HistoryRecord["op"]>(records: readonly HistoryRecord[], op: K) =>
  records.filter((record): record is Extract<HistoryRecord, { op: K }> => record.op === op);

/** Judges the records of one run: all its clients' files and the file of who ran them. */
export function checkHistory(records: readonly HistoryRecord[]): Verdict {
  const violations: Violation[] = [];
  const report: Report = (kind, text) => violations.push({ kind, text });
  const saves = ofOp(records, "save");
  const reads = ofOp(records, "read");
  const refused = ofOp(records, "refused");
  const log = ofOp(records, "log").sort((a, b) => a.generation - b.generation);
  const byRequest = groupBy(
    log.filter(({ request }) => request !== ""),
    ({ request }) => request,
  );
  const placed = placeSaves(saves, byRequest, report);
  for (const { request } of refused)
    if (byRequest.has(request)) report("refused save took effect", `${request} was refused and is in the log`);
  const known = new Set(saves.map(({ request }) => request));
  for (const request of byRequest.keys()) {
    if (!known.has(request) && !refused.some((one) => one.request === request))
      report("phantom save", `${request} is in the log and no client was told`);
  }
  checkGenerations(log, report);
  checkChains(records, log, saves, byRequest, report);
  checkReads(records, log, reads, report);
  checkRealTime(placed, reads, report);
  checkEnd(records, log, placed, report);
  return { saves: saves.length, reads: reads.length, refused: refused.length, violations };
}

/** Each acknowledged save with the generation that is its own: the log's, which its answer must agree with. */
function placeSaves(
  saves: readonly SaveRecord[],
  byRequest: ReadonlyMap<string, readonly LogRecord[]>,
  report: Report,
): { save: SaveRecord; generation: number }[] {
  const placed: { save: SaveRecord; generation: number }[] = [];
  for (const save of saves) {
    const entries = byRequest.get(save.request) ?? [];
    const [entry] = entries;
    if (entry === undefined) {
      report("early acknowledgement", `${save.request} was acknowledged at generation ${save.generation} and is not in the log`);
      // The answer is all there is to judge the others by.
      placed.push({ save, generation: save.generation });
      continue;
    }
    if (entries.length > 1) report("shared generation", `${save.request} is in the log ${entries.length} times`);
    if (entry.checkpoint !== save.checkpoint || entry.after !== save.after || entry.path !== save.path)
      report("early acknowledgement", `${save.request} was acknowledged with other content than the log has`);
    // A replayed answer carries the state of now, which is later.
    if (save.replayed ? save.generation < entry.generation : save.generation !== entry.generation)
      report("shared generation", `${save.request} was answered ${save.generation}, the log has ${entry.generation}`);
    placed.push({ save, generation: entry.generation });
  }
  return placed;
}

function checkGenerations(log: readonly LogRecord[], report: Report): void {
  const owners = new Map<number, string>();
  for (const { generation, checkpoint } of log) {
    const owner = owners.get(generation) ?? checkpoint;
    if (owner !== checkpoint) report("shared generation", `${owner} and ${checkpoint} both have generation ${generation}`);
    owners.set(generation, owner);
  }
}

/** On each path every change starts from what the one before left, and a save that did not merge from what its caller expected. */
function checkChains(
  records: readonly HistoryRecord[],
  log: readonly LogRecord[],
  saves: readonly SaveRecord[],
  byRequest: ReadonlyMap<string, readonly LogRecord[]>,
  report: Report,
): void {
  const starts = new Map(ofOp(records, "start").map((start) => [start.path, start]));
  const last = new Map<string, LogRecord>();
  for (const entry of log) {
    const start = starts.get(entry.path);
    const previous = last.get(entry.path);
    last.set(entry.path, entry);
    if (start === undefined || entry.generation <= start.generation) continue;
    const before = previous === undefined || previous.generation <= start.generation ? start.sha256 : previous.after;
    if (entry.before !== before)
      report("lost update", `${entry.checkpoint} of ${entry.path} replaced ${short(entry.before)}, not ${short(before)}`);
  }
  for (const save of saves) {
    const entry = byRequest.get(save.request)?.[0];
    if (entry === undefined || save.merged || save.expect === "") continue;
    if (entry.before !== save.expect)
      report("lost update", `${save.request} expected ${short(save.expect)} and replaced ${short(entry.before)}`);
  }
}

/** A read shows the newest change of its path that is not newer than the generation it was answered with. */
function checkReads(
  records: readonly HistoryRecord[],
  log: readonly LogRecord[],
  reads: readonly ReadRecord[],
  report: Report,
): void {
  const starts = new Map(ofOp(records, "start").map((start) => [start.path, start]));
  const changes = groupBy(log, ({ path }) => path);
  for (const read of reads) {
    const newest = newestUpTo(changes.get(read.path) ?? [], read.generation);
    const start = starts.get(read.path);
    const wanted =
      newest === undefined || (start !== undefined && newest.generation < start.generation) ? start?.sha256 : newest.after;
    if (read.sha256 !== wanted)
      report(
        "stale read",
        `${read.client} read ${short(read.sha256)} of ${read.path} at ${read.generation}, which had ${short(wanted ?? "")}`,
      );
  }
}

function newestUpTo(changes: readonly LogRecord[], generation: number): LogRecord | undefined {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.generation ?? 0) <= generation) low = middle + 1;
    else high = middle;
  }
  return changes[low - 1];
}

/** Whatever was answered before an operation began is not newer than it; a save is newer than all of that. */
function checkRealTime(
  placed: readonly { save: SaveRecord; generation: number }[],
  reads: readonly ReadRecord[],
  report: Report,
): void {
  const operations = [
    ...placed.map(({ save, generation }) => ({ what: save.request, own: true, span: save, generation })),
    ...reads.map((read) => ({ what: `a read by ${read.client}`, own: false, span: read, generation: read.generation })),
  ];
  const byStart = operations.toSorted((a, b) => a.span.invoked - b.span.invoked);
  const byEnd = operations.toSorted((a, b) => a.span.returned - b.span.returned);
  let ended = 0;
  let floor = 0;
  for (const { what, own, span, generation } of byStart) {
    for (let next = byEnd[ended]; next !== undefined && next.span.returned < span.invoked; next = byEnd[++ended])
      floor = Math.max(floor, next.generation);
    if (generation >= floor + (own ? 1 : 0)) continue;
    report(own ? "real-time order" : "stale read", `${what} has generation ${generation} after ${floor} was answered`);
  }
}

/** The files at the end are the log's last states, and hold every client's last acknowledged line: merges lose nothing either. */
function checkEnd(
  records: readonly HistoryRecord[],
  log: readonly LogRecord[],
  placed: readonly { save: SaveRecord; generation: number }[],
  report: Report,
): void {
  const lastMarks = new Map<string, { save: SaveRecord; generation: number }>();
  for (const one of placed) {
    const key = `${one.save.path} ${one.save.client}`;
    if ((lastMarks.get(key)?.generation ?? -1) < one.generation) lastMarks.set(key, one);
  }
  for (const end of ofOp(records, "end")) {
    const newest = newestUpTo(
      log.filter(({ path }) => path === end.path),
      Number.MAX_SAFE_INTEGER,
    );
    if (newest !== undefined && newest.after !== end.sha256)
      report("lost update", `${end.path} ends as ${short(end.sha256)}, the log says ${short(newest.after)}`);
    for (const { save } of lastMarks.values()) {
      if (save.path === end.path && end.marks[save.client] !== save.mark)
        report("lost update", `${end.path} ends with "${end.marks[save.client]}", ${save.request} wrote "${save.mark}"`);
    }
  }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

const short = (sha256: string): string => sha256.slice(0, 8);

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { violations, ...counts } = checkHistory(readHistory(process.argv.slice(2)));
  for (const { kind, text } of violations.slice(0, 100)) console.log(`${kind}: ${text}`);
  console.log(JSON.stringify({ ...counts, violations: violations.length }));
  process.exitCode = violations.length === 0 ? 0 : 1;
}
