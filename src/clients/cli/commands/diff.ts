import type { JsonObject } from "../../sdk/index.ts";
import { UsageError } from "../../sdk/index.ts";
import { wholeId } from "../checkpoint-id.ts";
import { type Command, type Context, flag, given } from "../command.ts";
import { DiffStat, whyNoPatch } from "../diff-stat.ts";
import { list, text } from "../output.ts";
import { more, pageLimit } from "../paging.ts";
import { PatchPrinter } from "../patch-printer.ts";
import { quoteName } from "../quote-name.ts";
import { showLine } from "../terminal.ts";

/** Bytes asked for in each page: the largest the daemon gives. */
const PAGE_BYTES = 1024 * 1024;

/** What differs between two snapshots, as a patch. All of it, unless a limit or `--json` asks for one page. */
export const command: Command = {
  usage: "diff [FROM [TO]] [--path PATH] [--stat] [--name-only] [-U LINES] [--limit N] [--cursor CURSOR]",
  words: [0, 2],
  flags: {
    path: { type: "string" },
    stat: { type: "boolean" },
    "name-only": { type: "boolean" },
    unified: { type: "string", short: "U" },
    limit: { type: "string" },
    cursor: { type: "string" },
  },
  help: [
    ["FROM", "head, base (default), published or a checkpoint; the beginning of its id will do"],
    ["TO", "the same; default head, which is what is on disk"],
    ["--path PATH", "only this path, or what lies below it"],
    ["--stat", "how many lines of each file changed"],
    ["--name-only", "the paths alone"],
    ["-U, --unified LINES", "unchanged lines around each change; default 3"],
    ["--limit N", "one page of at most N bytes of patch"],
    ["--cursor CURSOR", "go on where an earlier page ended"],
  ],
  async run(context) {
    const session = context.session();
    const asked = flag(context, "limit");
    const onePage = context.json || asked !== undefined;
    const printer = printerOf(context);
    let message: JsonObject = {
      ...given("from", await wholeId(context, context.positionals[0])),
      ...given("to", await wholeId(context, context.positionals[1])),
      ...given("prefix", flag(context, "path")),
      ...given("context_lines", contextLines(flag(context, "unified"))),
      ...((context.values.stat === true || context.values["name-only"] === true) && { summary: true }),
      ...given("cursor", flag(context, "cursor")),
      ...(asked !== undefined ? { limit: pageLimit(context, 0) } : !context.json && { limit: PAGE_BYTES }),
    };
    for (;;) {
      const page = await session.run("diff", message);
      if (context.json) {
        context.out.json(page);
        return;
      }
      for (const file of list(page, "files")) printer.add(file);
      const next = text(page, "next_cursor");
      if (next === "" || onePage) {
        printer.end();
        more(context, next);
        return;
      }
      message = { ...message, cursor: next };
    }
  },
};

/** Shows files as they come. */
interface Printer {
  add(file: JsonObject): void;
  end(): void;
}

function printerOf(context: Context): Printer {
  const { out } = context;
  if (context.values["name-only"] === true) {
    return { add: (file) => out.line(showName(context, text(file, "path"))), end: () => {} };
  }
  if (context.values.stat === true) {
    const stat = new DiffStat(out);
    return { add: (file) => stat.add(file), end: () => stat.end() };
  }
  const printer = new PatchPrinter(out);
  return {
    add: (file) => {
      printer.add(text(file, "patch"));
      if (text(file, "no_patch") !== "") withoutPatch(context, file);
    },
    end: () => printer.end(),
  };
}

/** Beside the patch and never in it: what reads the patch from a pipe would stumble over it. */
function withoutPatch({ out, err }: Context, file: JsonObject): void {
  const said = `${showLine(quoteName(text(file, "path")))}: ${whyNoPatch(file)}`;
  if (out.terminal) out.line(out.style("yellow", said));
  else err.line(`not in the patch: ${said}`);
}

function showName({ out }: Context, path: string): string {
  const name = quoteName(path);
  return out.terminal ? showLine(name) : name;
}

function contextLines(asked: string | undefined): number | undefined {
  if (asked === undefined) return undefined;
  if (!/^\d{1,6}$/.test(asked)) throw new UsageError(`-U takes a count of lines, not "${asked}"`);
  return Number(asked);
}
