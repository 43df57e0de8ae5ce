import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { minute } from "../attribution.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag, given } from "../command.ts";
import { list, type Output, object, type Style, short, text } from "../output.ts";
import { more, pageLimit } from "../paging.ts";
import { showLine, showText } from "../terminal.ts";

/** Lines of an excerpt that are shown. */
const EXCERPT_LINES = 6;
/** Notes of a thread asked for in each page: as many as the daemon gives. */
const MOST = 1000;

const STYLES: { readonly [standing: string]: Style } = {
  same: "green",
  moved: "cyan",
  changed: "yellow",
  gone: "red",
  unknown: "dim",
};

/** Notes as threads: the newest thread first, each in the order it was written. */
export const command: Command = {
  usage: "annotations [--checkpoint ID | --path PATH | --thread ID] [--limit N] [--cursor CURSOR]",
  flags: {
    checkpoint: { type: "string" },
    path: { type: "string" },
    thread: { type: "string" },
    limit: { type: "string" },
    cursor: { type: "string" },
  },
  help: [
    ["--checkpoint ID", "only those on this checkpoint; the beginning of its id will do"],
    ["--path PATH", "only those about this file, or files below it"],
    ["--thread ID", "one thread, by any annotation in it"],
    ["--limit N", "at most so many; default 50"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
  ],
  async run(context) {
    const [checkpoint, path, thread] = ["checkpoint", "path", "thread"].map((name) => flag(context, name));
    if ([checkpoint, path, thread].filter((one) => one !== undefined).length > 1) {
      throw new UsageError("--checkpoint, --path and --thread go one at a time");
    }
    const answer = await context.session().run("list_annotations", {
      ...given("checkpoint", await wholeId(context, checkpoint)),
      ...given("path", path),
      ...given("thread", thread),
      ...given("cursor", flag(context, "cursor")),
      limit: pageLimit(context, 50),
    });
    if (context.json) {
      context.out.json(answer);
      return;
    }
    const annotations = list(answer, "annotations");
    // Lists come newest first, a thread in order. What is about a path or checkpoint has answers that are about neither.
    if (thread !== undefined) show(context, annotations);
    else
      show(
        context,
        checkpoint === undefined && path === undefined ? annotations.toReversed() : await threadsOf(context, annotations),
      );
    more(context, text(answer, "next_cursor"));
  },
};

/** The threads of some notes, whole, those with the newest note last. */
async function threadsOf(context: Context, annotations: readonly JsonObject[]): Promise<JsonObject[]> {
  const threads = new Set(annotations.map((note) => text(note, "thread")));
  const notes: JsonObject[] = [];
  for (const thread of [...threads].reverse()) {
    let cursor = "";
    do {
      const answer = await context.session().run("list_annotations", { thread, limit: MOST, ...(cursor !== "" && { cursor }) });
      notes.push(...list(answer, "annotations"));
      cursor = text(answer, "next_cursor");
    } while (cursor !== "");
  }
  return notes;
}

/** Oldest first in, threads with the newest note first out. */
function show({ out }: Context, annotations: readonly JsonObject[]): void {
  const threads = new Map<string, JsonObject[]>();
  for (const annotation of annotations) {
    const thread = text(annotation, "thread");
    const notes = threads.get(thread) ?? [];
    notes.push(annotation);
    threads.delete(thread);
    threads.set(thread, notes);
  }
  let first = true;
  for (const [thread, notes] of [...threads].reverse()) {
    if (!first) out.line();
    first = false;
    if (text(notes[0] ?? {}, "id") !== thread) out.line(out.style("dim", `… in thread ${thread}`));
    for (const note of notes) showNote(out, note, text(note, "id") === thread ? "" : "  ");
  }
}

function showNote(out: Output, note: JsonObject, indent: string): void {
  const corrected = text(note, "corrected_by");
  const [reply, corrects] = [text(note, "reply_to"), text(note, "corrects")];
  const about = corrects !== "" ? `corrects ${corrects}` : reply !== "" ? `answers ${reply}` : `on ${text(note, "checkpoint")}`;
  const who = out.style("bold", showLine(text(note, "principal")));
  const head = `${indent}${out.style("cyan", text(note, "id"))}  ${who}  ${out.style("dim", `${minute(text(note, "time"))}  ${about}`)}`;
  out.line(corrected === "" ? head : `${head}  ${out.style("yellow", `corrected by ${corrected}`)}`);
  for (const anchored of list(note, "anchors")) showAnchor(out, anchored, `${indent}  `);
  for (const line of showText(text(note, "text")).replace(/\n$/, "").split("\n")) {
    const shown = `${indent}  ${line}`.trimEnd();
    out.line(corrected === "" ? shown : out.style("dim", shown));
  }
}

function showAnchor(out: Output, anchored: JsonObject, indent: string): void {
  const then = object(anchored, "anchor");
  const standing = short(text(anchored, "standing"), "ANCHOR_STANDING_");
  const now = standing === "moved" || standing === "changed" ? ` ${placeOf(anchored)}` : "";
  out.line(`${indent}${placeOf(then)}  ${out.style(STYLES[standing] ?? "dim", `${standing}${now}`)}`);
  const lines = showText(text(anchored, "text")).replace(/\n$/, "").split("\n");
  if (text(anchored, "text") === "") return;
  for (const line of lines.slice(0, EXCERPT_LINES)) out.line(`${indent}${out.style("dim", `| ${line}`.trimEnd())}`);
  if (lines.length > EXCERPT_LINES) out.line(`${indent}${out.style("dim", `| … ${lines.length - EXCERPT_LINES} lines more`)}`);
}

function placeOf(place: JsonObject): string {
  const [start, end] = [text(place, "start_line"), text(place, "end_line")];
  const path = showLine(text(place, "path"));
  return start === "0" ? path : `${path}:${start === end ? start : `${start}-${end}`}`;
}
