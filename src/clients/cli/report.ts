import { PathsError, TokenFileError } from "../../paths/index.ts";
import {
  EngineError,
  type ErrorDetail,
  isObject,
  type JsonObject,
  NotSentError,
  StartError,
  UnknownOutcomeError,
  UsageError,
} from "../sdk/index.ts";
import { quote, sessionFlags } from "./again.ts";
import { factPairs } from "./facts.ts";
import { logEntry } from "./log-entry.ts";
import { brief, type Output } from "./output.ts";
import { EXIT } from "./run.ts";
import { showLine, showText } from "./terminal.ts";

/** Where a failure is told, and the command line it befell. */
export interface Reporting {
  readonly out: Output;
  readonly err: Output;
  readonly json: boolean;
  readonly argv: readonly string[];
}

/** Longest next call that is shown whole. */
const NEXT_CHARACTERS = 600;
/** How much is shown of a line of the log that a crash cut off. */
const CUT_CHARACTERS = 100;

/**
 * Tells a person what went wrong and what to do, and gives the exit status. With `--json` an engine error goes to standard output as
 * `{"error":…}`, the same as a Response would carry it.
 */
export function report(thrown: unknown, to: Reporting): number {
  if (thrown instanceof EngineError) {
    if (to.json) to.out.json({ error: thrown.detail.raw });
    else explain(thrown.detail, thrown.requestId, to);
    return EXIT.refused;
  }
  const fault = setupFault(thrown);
  if (fault !== undefined) {
    if (fault.reason === "") return tell(to.err, fault.message, [fault.suggestion], fault.exit);
    headline(to.err, fault.reason, fault.message);
    return fault.exit;
  }
  if (thrown instanceof UnknownOutcomeError) {
    const next = `gin ${thrown.recorded ? `outcome ${thrown.requestId}` : "lease list"}${sessionFlags(to.argv)}`;
    return tell(
      to.err,
      `${thrown.message}: the outcome is unknown`,
      ["it may or may not have happened; this tells:", next],
      EXIT.unknown,
    );
  }
  if (thrown instanceof StartError) {
    notStarted(thrown, to.err);
    return EXIT.transport;
  }
  if (thrown instanceof NotSentError) {
    const absent = ["ENOENT", "ECONNREFUSED"].includes(thrown.code);
    const lines = thrown.sent ? ["nothing was changed; it can be asked again"] : ["nothing was sent"];
    return tell(to.err, thrown.message, absent ? [...lines, "gin start starts a daemon"] : lines, EXIT.transport);
  }
  // A fault of the CLI itself: nothing is known of what was asked, so the stack is worth more than a sentence.
  to.err.line(
    `gin: a fault in the command line client\n${showText(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown))}`,
  );
  return EXIT.transport;
}

/** What the command line, a token file or the host's directories have wrong, so that nothing was asked; undefined for any other failure. */
export function setupFault(
  thrown: unknown,
): { readonly reason: string; readonly message: string; readonly suggestion: string; readonly exit: number } | undefined {
  if (isDirectoryGone(thrown)) {
    const message = "the current directory does not exist any more: go to another, or name absolute paths";
    return { reason: "PATH_NOT_FOUND", message, suggestion: "", exit: EXIT.usage };
  }
  if (thrown instanceof UsageError) return { reason: "", message: thrown.message, suggestion: "", exit: EXIT.usage };
  if (!(thrown instanceof TokenFileError) && !(thrown instanceof PathsError)) return undefined;
  const exit = thrown instanceof TokenFileError || thrown.fault === "config" ? EXIT.usage : EXIT.transport;
  return { reason: "", message: thrown.message, suggestion: thrown.suggestion, exit };
}

/** Why a daemon did not start, and the last lines of its log; what else they hold, stacks above all, is in the file. */
function notStarted(thrown: StartError, err: Output): void {
  headline(err, thrown.reason, thrown.message);
  if (thrown.suggestion !== "") err.line(`  ${showLine(thrown.suggestion)}`);
  if (thrown.logTail === "") return;
  err.line(`  the end of its log, ${showLine(thrown.logFile)}:`);
  for (const line of thrown.logTail.split("\n")) {
    const entry = logEntry(line);
    err.line(
      `  | ${showLine(entry === undefined ? brief(line, CUT_CHARACTERS) : `${entry.level.padEnd(5)} ${entry.time} ${entry.message}`)}`,
    );
  }
}

/** Whether Node could not tell the working directory, without which no relative path can be resolved. */
function isDirectoryGone(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown && thrown.syscall === "uv_cwd";
}

/** The first line of a failure: its reason and what happened. */
export function headline(err: Output, reason: string, message: string): void {
  const coded = reason === "" ? "" : `${err.style("bold", showLine(reason))}: `;
  err.line(`${err.style("red", "gin:")} ${coded}${showLine(message)}`);
}

function tell(err: Output, message: string, lines: readonly string[], exit: number): number {
  status(err, message, lines);
  return exit;
}

function status(err: Output, message: string, lines: readonly string[]): void {
  err.line(`${err.style("red", "gin:")} ${showText(message)}`);
  for (const line of lines) if (line !== "") err.line(`  ${showLine(line)}`);
}

/** An engine error: reason and message, suggestion, facts, and the call that would do next. */
export function explain(detail: ErrorDetail, requestId: string | undefined, to: Pick<Reporting, "err" | "argv">): void {
  const { err } = to;
  headline(err, detail.reason, detail.message);
  if (detail.suggestion !== "") err.line(`  ${showLine(detail.suggestion)}`);
  for (const [name, value] of factPairs(detail.facts)) err.line(`  ${err.style("dim", showLine(`${name}: ${value}`))}`);
  if (detail.retryAfterMs > 0) err.line(`  retry after ${detail.retryAfterMs} ms`);
  if (detail.detailId !== "") err.line(`  more: gin details ${showLine(detail.detailId)}${sessionFlags(to.argv)}`);
  if (detail.nextCall !== undefined) err.line(`  next: ${nextCommand(detail.nextCall, to.argv)}`);
  if (requestId !== undefined) err.line(err.style("dim", `  request ${showLine(requestId)}`));
}

/** The next call as a command line, where it is short enough to be one. */
function nextCommand(request: JsonObject, argv: readonly string[]): string {
  const { save } = request;
  if (isObject(save) && save.on_conflict === "ON_CONFLICT_MERGE" && argv.includes("save"))
    return "the same command with --on-conflict merge";
  const command = `gin call${sessionFlags(argv)} --json ${quote(JSON.stringify(request))}`;
  if (command.length <= NEXT_CHARACTERS) return showLine(command);
  return `a ${Object.keys(request)[0] ?? "call"}; --json shows it whole`;
}
