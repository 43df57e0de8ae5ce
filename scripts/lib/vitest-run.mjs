import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endProcessesWith } from "./leftovers.mjs";
import { root } from "./run.mjs";

/** Marks of running suites: every process they started has one in its environment, and ends with this process. */
const marks = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    for (const mark of marks) endProcessesWith(mark);
    process.exit(1);
  });
}

function readLines(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/**
 * Runs vitest on some projects (only these files, if any are named); after `seconds` (0: none) it is ended with every process it started.
 * Gives the results that were reached, whether time ran out, vitest's own verdict, and the processes that tests left behind
 * (ended here, and a failure: a test that leaks a daemon leaks it on its reader's machine too).
 */
export async function runVitest({ projects, files = [], env = {}, seconds = 0 }) {
  const folder = mkdtempSync(join(tmpdir(), "gin-results-"));
  const results = join(folder, "results.jsonl");
  const args = ["node_modules/vitest/vitest.mjs", "run", "--reporter=default", "--reporter=./scripts/lib/reporter.mjs"];
  const child = spawn(process.execPath, [...args, ...projects.flatMap((name) => ["--project", name]), ...files], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...env, GIN_TEST_RESULTS: results },
  });
  const mark = `GIN_TEST_RESULTS=${results}`;
  marks.add(mark);
  let timedOut = false;
  const timer =
    seconds > 0 &&
    setTimeout(() => {
      timedOut = true;
      endProcessesWith(mark);
    }, seconds * 1000);
  const code = await new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (status) => done(status ?? 1));
  });
  clearTimeout(timer);
  const leftovers = endProcessesWith(mark);
  marks.delete(mark);
  const lines = readLines(results);
  rmSync(folder, { recursive: true, force: true });
  return { lines, timedOut, leftovers: timedOut ? [] : leftovers, ok: code === 0 && !timedOut };
}
