import { expect, test } from "vitest";
import { Output } from "../../../src/clients/cli/output.ts";
import { report } from "../../../src/clients/cli/report.ts";
import { StartError } from "../../../src/clients/sdk/index.ts";

/** What a person is told of a failure, and the exit status. */
function told(thrown: unknown): { status: number; text: string } {
  let text = "";
  const out = new Output(() => ({ write: (data) => (text += String(data)) }), {});
  const status = report(thrown, { out, err: out, json: false, argv: [] });
  return { status, text };
}

test("a failed start shows reason, message, suggestion, and the end of the log readable, without stacks", () => {
  const line = {
    level: 50,
    time: "2026-11-30T10:00:00.000Z",
    pid: 7,
    err: { stack: "Error\n    at open (/x)" },
    msg: "not \x1bready",
  };
  const log = { file: "/h/logs/daemon.log", tail: `${JSON.stringify(line)}\n{"cut":"${"x".repeat(300)}` };
  const why = { reason: "STORE_TOO_NEW", message: "the store has version 2", suggestion: "use that version or newer" };
  expect(told(new StartError(why, log))).toEqual({
    status: 3,
    text: [
      "gin: STORE_TOO_NEW: the store has version 2",
      "  use that version or newer",
      "  the end of its log, /h/logs/daemon.log:",
      "  | error 2026-11-30T10:00:00.000Z not \\x1bready",
      `  | {"cut":"${"x".repeat(92)}`,
      "",
    ].join("\n"),
  });
});

test("a failed start without a reason or a log is told in two lines", () => {
  const why = { reason: "", message: "the daemon program is missing", suggestion: "run npm run build" };
  expect(told(new StartError(why)).text).toBe("gin: the daemon program is missing\n  run npm run build\n");
});
