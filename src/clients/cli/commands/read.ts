import type { JsonObject } from "../../sdk/index.ts";
import { UsageError } from "../../sdk/index.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag, given } from "../command.ts";
import { bytes, list, short, text } from "../output.ts";
import { more, pageLimit } from "../paging.ts";

/** Bytes asked for in each page after a file's first: the largest the daemon gives. The first may turn out to be a directory's. */
const PAGE_BYTES = 1024 * 1024;

/** Prints a file's bytes as they are, page by page, or a directory's entries. With `--json` one page's message. */
export const command: Command = {
  usage: "read PATH [--lines A-B] [--snapshot ID] [--stat] [--if-hash SHA] [--cursor CURSOR] [--limit N]",
  words: [1, 1],
  flags: {
    lines: { type: "string" },
    snapshot: { type: "string" },
    stat: { type: "boolean" },
    "if-hash": { type: "string" },
    cursor: { type: "string" },
    limit: { type: "string" },
  },
  help: [
    ["--lines A-B", "these lines, from 1, inclusive; A- is to the end, A is one line"],
    ["--snapshot ID", "head (default), base, published or a checkpoint; the beginning of its id will do"],
    ["--stat", "size, hash and kind instead of the bytes"],
    ["--if-hash SHA", "print nothing when the file still has this SHA-256"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
    ["--limit N", "one page of at most N bytes or entries"],
  ],
  async run(context) {
    const session = context.session();
    const asked = flag(context, "limit");
    const onePage = context.json || asked !== undefined;
    let message: JsonObject = {
      path: context.positionals[0] ?? "",
      ...given("snapshot", await wholeId(context, flag(context, "snapshot"))),
      ...given("if_hash", flag(context, "if-hash")),
      ...given("cursor", flag(context, "cursor")),
      ...lines(flag(context, "lines")),
      ...(asked !== undefined && { limit: pageLimit(context, 0) }),
      ...(context.values.stat === true && { content: false }),
    };
    for (;;) {
      const page = await session.run("read_path", message);
      if (context.json) {
        context.out.json(page);
        return;
      }
      show(context, page);
      const next = text(page, "next_cursor");
      if (next === "" || context.values.stat === true) return;
      if (onePage) {
        more(context, next);
        return;
      }
      message = { ...message, cursor: next, ...(page.kind === "PATH_KIND_FILE" && { limit: PAGE_BYTES }) };
    }
  },
};

function lines(range: string | undefined): JsonObject {
  if (range === undefined) return {};
  const match = /^([1-9]\d{0,8})(-([1-9]\d{0,8})?)?$/.exec(range);
  if (match === null) throw new UsageError(`--lines takes A-B, A- or A, not "${range}"`);
  const end = match[2] === undefined ? match[1] : match[3];
  return { start_line: Number(match[1]), ...(end !== undefined && { end_line: Number(end) }) };
}

function show(context: Context, page: JsonObject): void {
  const { out, err } = context;
  if (page.unchanged === true) {
    err.line("unchanged");
  } else if (context.values.stat === true) {
    stat(context, page);
  } else if (page.kind === "PATH_KIND_DIRECTORY") {
    directory(context, page);
  } else if (typeof page.text === "string") {
    out.content(page.text);
  } else if (typeof page.data === "string") {
    out.content(Buffer.from(page.data, "base64"));
  } else {
    stat(context, page);
  }
}

function directory({ out }: Context, page: JsonObject): void {
  const rows = list(page, "entries").map((entry) => {
    const kind = short(text(entry, "kind"), "PATH_KIND_");
    const mark = entry.sensitive === true ? "protected" : entry.executable === true ? "executable" : "";
    return [
      kind,
      kind === "file" ? bytes(text(entry, "size")) : "",
      text(entry, "name") + (kind === "directory" ? "/" : ""),
      mark,
    ];
  });
  out.table(["kind", "size", "name", ""], rows);
}

function stat({ out }: Context, page: JsonObject): void {
  const file = page.kind === "PATH_KIND_FILE";
  out.facts([
    ["path", text(page, "path")],
    ["kind", short(text(page, "kind"), "PATH_KIND_")],
    ["sha256", text(page, "sha256")],
    ["size", file ? text(page, "size") : ""],
    ["lines", file && page.encoding === "utf-8" ? text(page, "line_count") : ""],
    ["encoding", file ? `${text(page, "encoding")}${page.bom === true ? " with BOM" : ""}` : ""],
    ["line ends", file ? text(page, "line_ending") : ""],
    ["executable", file ? text(page, "executable") : ""],
    ["target", text(page, "link_target")],
    ["checkpoint", text(page, "checkpoint")],
  ]);
}
