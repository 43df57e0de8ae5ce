import { EngineError, type JsonObject, UsageError } from "../../sdk/index.ts";
import { type Attribution, Attributions, attributionOf, originOf } from "../attribution.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag, given } from "../command.ts";
import { list, text } from "../output.ts";
import { more, pageLimit } from "../paging.ts";
import { showLine, showText } from "../terminal.ts";

/** Spans asked for in each page, the most the daemon gives, and bytes of content. */
const SPANS = 1000;
const PAGE_BYTES = 1024 * 1024;

/** Who wrote which line; of a directory, the last change of each entry. With `--json` one page's message. */
export const command: Command = {
  usage: "origin PATH [--at SNAPSHOT] [--lines A:B] [--limit N] [--cursor CURSOR]",
  words: [1, 1],
  flags: { at: { type: "string" }, lines: { type: "string" }, limit: { type: "string" }, cursor: { type: "string" } },
  help: [
    ["PATH", "a file: a line for each of its lines; a directory: a line for each entry"],
    ["--at SNAPSHOT", "head (default), base, published or a checkpoint; the beginning of its id will do"],
    ["--lines A:B", "these lines, from 1, inclusive; A: is to the end, A is one line"],
    ["--limit N, --cursor CURSOR", "one page of spans or entries, for --json"],
  ],
  async run(context) {
    const session = context.session();
    const asked = flag(context, "limit");
    const onePage = context.json || asked !== undefined;
    let message: JsonObject = {
      path: context.positionals[0] ?? "",
      ...given("snapshot", await wholeId(context, flag(context, "at"))),
      ...given("cursor", flag(context, "cursor")),
      ...range(flag(context, "lines")),
      ...(asked !== undefined ? { limit: pageLimit(context, 0) } : context.json ? {} : { limit: SPANS }),
    };
    let page = await session.run("origin", message);
    if (context.json) {
      context.out.json(page);
      return;
    }
    const spans = list(page, "spans");
    const entries = list(page, "entries");
    while (!onePage && text(page, "next_cursor") !== "") {
      message = { ...message, cursor: text(page, "next_cursor") };
      page = await session.run("origin", message);
      spans.push(...list(page, "spans"));
      entries.push(...list(page, "entries"));
    }
    if (page.kind === "PATH_KIND_DIRECTORY") showEntries(context, entries);
    else await showLines(context, page, spans);
    more(context, text(page, "next_cursor"));
  },
};

function range(asked: string | undefined): JsonObject {
  if (asked === undefined) return {};
  const match = /^([1-9]\d{0,8})([:-]([1-9]\d{0,8})?)?$/.exec(asked);
  if (match === null) throw new UsageError(`--lines takes A:B, A: or A, not "${asked}"`);
  const end = match[2] === undefined ? match[1] : match[3];
  return { start_line: Number(match[1]), ...(end !== undefined && { end_line: Number(end) }) };
}

function showEntries({ out }: Context, entries: readonly JsonObject[]): void {
  const all = entries.map((entry) => attributionOf(originOf(entry)));
  const table = new Attributions(out, all);
  for (const [index, entry] of entries.entries()) {
    const name = showLine(text(entry, "name")) + (entry.kind === "PATH_KIND_DIRECTORY" ? "/" : "");
    const message = showLine(text(originOf(entry), "message"));
    const line = `${table.columns(all[index] as Attribution)}  ${name}`;
    out.line(message === "" ? line : `${line}  ${out.style("dim", message)}`);
  }
}

async function showLines(context: Context, page: JsonObject, spans: readonly JsonObject[]): Promise<void> {
  const { out } = context;
  const all = spans.map((span) => attributionOf(originOf(span)));
  const table = new Attributions(out, all);
  const first = spans[0];
  if (first === undefined) return;
  if (text(first, "end_line") === "0") {
    out.line(`${table.columns(all[0] as Attribution)}  ${out.style("dim", "not text")}`);
    return;
  }
  const from = Number(text(first, "start_line"));
  const to = text(spans.at(-1) ?? first, "end_line");
  const lines = await contentOf(context, page, from, Number(to));
  const digits = to.length;
  for (const [index, span] of spans.entries()) {
    const columns = table.columns(all[index] as Attribution);
    for (let line = Number(text(span, "start_line")); line <= Number(text(span, "end_line")); line += 1) {
      const number = out.style("dim", String(line).padStart(digits));
      out.line(`${columns}  ${number}  ${showText(lines[line - from] ?? "")}`.trimEnd());
    }
  }
}

/** Lines `from` to `to` of what was spoken of; none where their bytes are not kept, for what is told of them stands without. */
async function contentOf(context: Context, page: JsonObject, from: number, to: number): Promise<string[]> {
  const session = context.session();
  const pieces: Buffer[] = [];
  const { path = "", checkpoint = "" } = page;
  let message: JsonObject = { path, snapshot: checkpoint, start_line: from, end_line: to, limit: PAGE_BYTES };
  try {
    for (;;) {
      const read = await session.run("read_path", message);
      pieces.push(typeof read.data === "string" ? Buffer.from(read.data, "base64") : Buffer.from(text(read, "text")));
      const next = text(read, "next_cursor");
      if (next === "") break;
      message = { ...message, cursor: next };
    }
  } catch (thrown) {
    if (thrown instanceof EngineError && thrown.detail.reason === "CONTENT_NOT_KEPT") return [];
    throw thrown;
  }
  return Buffer.concat(pieces)
    .toString("utf8")
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
}
