// `npm run proof [-- --only G1,G2]`: the reliability rows with their full counts, from the files named *.proof.test.ts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PROOF_ROWS } from "./lib/proof-rows.mjs";
import { root, runOrExit } from "./lib/run.mjs";
import { presentSuites } from "./lib/suites.mjs";
import { Tally } from "./lib/tally.mjs";
import { runVitest } from "./lib/vitest-run.mjs";

const { values } = parseArgs({ options: { only: { type: "string" } } });
const only = values.only?.split(",");
const rows = PROOF_ROWS.filter(({ row }) => only === undefined || only.includes(row));
if (rows.length === 0 || (only !== undefined && rows.length < only.length)) {
  console.error(`no such row; there are: ${PROOF_ROWS.map(({ row }) => row).join(", ")}`);
  process.exit(2);
}
const seed = process.env.GIN_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 32));
const env = { GIN_TEST_KIND: "proof", GIN_TEST_SEED: seed };
/** With --only, the files that name a wanted row. */
const files =
  only === undefined ? [] : proofFiles().filter((file) => only.some((row) => readFileSync(file, "utf8").includes(`"${row}"`)));

function proofFiles() {
  const all = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" });
  return all.filter((file) => file.endsWith(".proof.test.ts")).map((file) => join(root, "test", file));
}

await runOrExit("node", ["scripts/build.mjs"]);
const tally = new Tally();
const nothing = { lines: [], timedOut: false, leftovers: [], ok: true };
const outcome =
  only !== undefined && files.length === 0
    ? nothing
    : await runVitest({ projects: presentSuites().map(({ name }) => name), files, env });
tally.addRun({ name: "proof" }, seed, outcome);

/** Several tests may share a row: their cases add up. */
function judge({ row, count, promise }) {
  const lines = outcome.lines.filter((line) => line.kind === "proof" && line.row === row);
  const cases = lines.reduce((sum, line) => sum + line.count, 0);
  const violations = lines.reduce((sum, line) => sum + line.violations, 0);
  const figures = lines.map(({ kind, row, count, violations, ...rest }) => JSON.stringify(rest)).filter((text) => text !== "{}");
  const verdict = lines.length === 0 ? "NOT RUN" : violations > 0 ? "VIOLATED" : cases < count ? "TOO FEW" : "holds";
  console.log(
    `${row.padEnd(4)} ${verdict.padEnd(9)} ${cases} of ${count} cases, ${violations} violations: ${promise} ${figures.join(" ")}`,
  );
  tally.add("rows", verdict === "holds" ? "passed" : "failed", row, verdict === "holds" ? "" : verdict);
}

console.log("");
for (const row of rows) judge(row);
tally.print();
process.exitCode = tally.failed === 0 ? 0 : 1;
