import * as fs from "node:fs";
import { locateHost } from "../../../paths/index.ts";
import { UsageError } from "../../sdk/index.ts";
import { type Command, type Context, flag } from "../command.ts";
import { located } from "../located.ts";
import { logEntry } from "../log-entry.ts";
import { showLine } from "../terminal.ts";

/** How often a followed log is looked at. */
const LOOK_MS = 200;
/** Bytes read from the end of the log at most, to find its last lines. */
const TAIL_BYTES = 4 * 1024 * 1024;

/** The daemon's log, from its file: works without a daemon. */
export const command: Command = {
  usage: "logs [-f] [-n LINES]",
  flags: { follow: { type: "boolean", short: "f" }, lines: { type: "string", short: "n" } },
  help: [
    ["-f, --follow", "go on as lines are written"],
    ["-n, --lines LINES", "the last so many; default 50"],
    ["--json", "the lines as they are"],
  ],
  async run(context) {
    const asked = flag(context, "lines") ?? "50";
    if (!/^\d{1,7}$/.test(asked)) throw new UsageError(`-n takes a count, not "${asked}"`);
    const file = locateHost(located(context), context.env).log;
    if (!fs.existsSync(file) && context.values.follow !== true) {
      context.err.line("there is no log yet");
      return;
    }
    let at = tail(context, file, Number(asked));
    if (context.values.follow !== true) return;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      at = more(context, file, at);
    }
  },
};

/** Where reading stopped, and in which file: a rotated log starts anew. */
interface Position {
  readonly inode: number;
  readonly offset: number;
}

function tail(context: Context, file: string, lines: number): Position {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return { inode: 0, offset: 0 };
  const text = part(file, Math.max(0, stat.size - TAIL_BYTES), stat.size);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (lines > 0) for (const line of whole.trimEnd().split("\n").slice(-lines)) show(context, line);
  return { inode: stat.ino, offset: stat.size - Buffer.byteLength(text.slice(whole.length)) };
}

function more(context: Context, file: string, at: Position): Position {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return at;
  const offset = stat.ino === at.inode && stat.size >= at.offset ? at.offset : 0;
  if (stat.size === offset) return { inode: stat.ino, offset };
  const text = part(file, offset, stat.size);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  for (const line of whole.split("\n").slice(0, -1)) show(context, line);
  return { inode: stat.ino, offset: offset + Buffer.byteLength(whole) };
}

function part(file: string, from: number, to: number): string {
  const fd = fs.openSync(file, "r");
  try {
    const bytes = Buffer.alloc(to - from);
    const length = fs.readSync(fd, bytes, 0, bytes.length, from);
    return bytes.subarray(0, length).toString("utf8");
  } finally {
    fs.closeSync(fd);
  }
}

function show(context: Context, line: string): void {
  const { out } = context;
  const entry = context.json ? undefined : logEntry(line);
  if (entry === undefined) {
    out.line(out.terminal ? showLine(line) : line);
    return;
  }
  const rest = Object.entries(entry.facts).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  out.line(
    `${out.style("dim", showLine(entry.time))} ${out.style(entry.style, entry.level.padEnd(5))} ${showLine(entry.message)} ${out.style("dim", showLine(rest.join(" ")))}`.trimEnd(),
  );
}
