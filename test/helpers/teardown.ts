import { onTestFinished, TestRunner } from "vitest";

type Cleanup = () => void | Promise<void>;

const atEnd: Cleanup[] = [];

async function runAll(cleanups: Cleanup[]): Promise<void> {
  for (let next = cleanups.pop(); next !== undefined; next = cleanups.pop()) await next();
}

/** Ends what a file made outside of its tests. `each-file.ts` calls it: this module is loaded once for all files that share a process. */
export const endFile = (): Promise<void> => runAll(atEnd);

/** Runs `cleanup` when the current test has ended, or, outside of a test (hooks, file level), when the file's tests have. Last in, first out. */
export function atTeardown(cleanup: Cleanup): void {
  if (TestRunner.getCurrentTest() === undefined) atEnd.push(cleanup);
  else onTestFinished(cleanup);
}
