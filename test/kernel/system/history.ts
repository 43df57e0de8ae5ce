import { appendFileSync, readFileSync } from "node:fs";

/** When an operation was sent and when its answer was there, in microseconds of the machine's monotonic clock. */
export interface Span {
  readonly invoked: number;
  readonly returned: number;
}

/** One line of a history file. Clients write `read`, `save` and `refused`; who runs them writes `start`, `killed`, `log` and `end`. */
export type HistoryRecord =
  /** What a path held before the first client started. */
  | { readonly op: "start"; readonly path: string; readonly sha256: string; readonly generation: number }
  | ({
      readonly op: "read";
      readonly client: string;
      readonly path: string;
      readonly sha256: string;
      readonly generation: number;
    } & Span)
  /** An acknowledged save. `mark` is the line it wrote, unique to it; `expect` is "" when the workspace's generation stood for it. */
  | ({
      readonly op: "save";
      readonly client: string;
      readonly path: string;
      readonly request: string;
      readonly expect: string;
      readonly after: string;
      readonly merged: boolean;
      readonly replayed: boolean;
      readonly generation: number;
      readonly checkpoint: string;
      readonly mark: string;
    } & Span)
  | ({
      readonly op: "refused";
      readonly client: string;
      readonly path: string;
      readonly request: string;
      readonly reason: string;
    } & Span)
  | { readonly op: "killed"; readonly at: number }
  /** One path of one checkpoint, as the daemon's log tells it at the end. */
  | {
      readonly op: "log";
      readonly path: string;
      readonly checkpoint: string;
      readonly generation: number;
      readonly request: string;
      readonly before: string;
      readonly after: string;
    }
  /** What a path holds at the end, with the last mark of each client in it. */
  | { readonly op: "end"; readonly path: string; readonly sha256: string; readonly marks: { readonly [client: string]: string } };

/** Acknowledged saves. */
export type SaveRecord = Extract<HistoryRecord, { op: "save" }>;

/** Now, in microseconds; comparable between processes of one machine. */
export const micros = (): number => Number(process.hrtime.bigint() / 1000n);

/** Appends records to a history file. */
export function appendHistory(file: string, records: readonly HistoryRecord[]): void {
  if (records.length > 0) appendFileSync(file, `${records.map((record) => JSON.stringify(record)).join("\n")}\n`);
}

/** All records of some history files, in no order. */
export function readHistory(files: readonly string[]): HistoryRecord[] {
  return files.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as HistoryRecord),
  );
}

/** A shared file: one line a client, with a line between that nobody changes, so that edits of two clients merge. */
export function initialText(clients: readonly string[]): string {
  return clients.map((client) => `${client} 0\n--\n`).join("");
}

/** The text with a client's line replaced by its new mark ("CLIENT N"). */
export function withMark(text: string, client: string, mark: string): string {
  return text.replace(new RegExp(`^${client} .*$`, "m"), mark);
}

/** Every client's line. */
export function marksOf(text: string): { [client: string]: string } {
  const lines = text.split("\n").filter((line) => line !== "" && line !== "--");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(" ")), line]));
}
