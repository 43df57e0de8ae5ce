// `npm test`: checks, build, then the suites within their budgets. `--long`: larger counts, no budgets.
import { parseArgs } from "node:util";
import { CHECKS, runChecks } from "./lib/checks.mjs";
import { run } from "./lib/run.mjs";
import { CHECK_SECONDS, presentSuites, TOTAL_SECONDS } from "./lib/suites.mjs";
import { Tally } from "./lib/tally.mjs";
import { runVitest } from "./lib/vitest-run.mjs";

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    only: { type: "string" },
    minutes: { type: "string" },
  },
});
const suites = presentSuites().filter((suite) => values.only === undefined || suite.name === values.only);
if (suites.length === 0) {
  console.error(
    `no suite named ${values.only}; there are: ${presentSuites()
      .map((suite) => suite.name)
      .join(", ")}`,
  );
  process.exit(2);
}
const scale = process.env.GIN_TEST_SCALE ?? (values.long ? "10" : "1");
const until = Date.now() + Number(values.minutes ?? "0") * 60_000;
const tally = new Tally();

/** Checks and build: each counts as one test of the suite "build". */
async function buildSuite() {
  const started = Date.now();
  const failed = await runChecks();
  for (const check of CHECKS) tally.add("build", failed.includes(check.name) ? "failed" : "passed", `check: ${check.name}`, "");
  try {
    await run("node", ["scripts/build.mjs"]);
    tally.add("build", "passed", "build", "");
  } catch (error) {
    tally.add("build", "failed", "build", error.message);
  }
  const seconds = (Date.now() - started) / 1000;
  if (!values.long && seconds > CHECK_SECONDS) tally.add("build", "failed", "budget", `took ${seconds} s of ${CHECK_SECONDS}`);
}

/** One round over the suites, all with one seed: GIN_TEST_SEED repeats it. */
async function round(seed) {
  for (const suite of suites) {
    console.log(`\n== ${suite.name} (seed ${seed}, scale ${scale}${values.long ? "" : `, ${suite.seconds} s`})`);
    const env = { GIN_TEST_SEED: seed, GIN_TEST_SCALE: scale, ...(values.long ? { GIN_TEST_LONG: "1" } : {}) };
    const outcome = await runVitest({ projects: [suite.name], env, seconds: values.long ? 0 : suite.seconds });
    tally.addRun(suite, seed, outcome);
  }
}

const started = Date.now();
await buildSuite();
do {
  await round(process.env.GIN_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 32)));
} while (Date.now() < until && tally.failed === 0);
const seconds = Math.round((Date.now() - started) / 1000);
if (!values.long && seconds > TOTAL_SECONDS) tally.add("total", "failed", "budget", `took ${seconds} s of ${TOTAL_SECONDS}`);
tally.print(seconds);
process.exitCode = tally.failed === 0 ? 0 : 1;
