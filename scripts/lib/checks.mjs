import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { root, run } from "./run.mjs";

const bin = join(root, "node_modules", ".bin");
const tool = (name, args) =>
  run(join(bin, name), args, { env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ""}` } });

/** Generates into a fresh folder and compares: src/gen is never edited, and never behind proto/. */
async function generatedIsCurrent() {
  const fresh = mkdtempSync(join(tmpdir(), "gin-generate-"));
  try {
    await tool("buf", ["generate", "-o", fresh]);
    await run("diff", ["-r", "--exclude=tsconfig.json", join(fresh, "src", "gen"), "src/gen"]);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Against the committed image of what was promised: `npm run baseline` renews it at a release. */
const baseline = "proto/baseline.binpb";

/** Checks of `npm run check`, cheapest first. Each throws when it fails. */
export const CHECKS = [
  { name: "buf lint", run: () => tool("buf", ["lint"]) },
  ...(existsSync(join(root, baseline))
    ? [{ name: "buf breaking", run: () => tool("buf", ["breaking", "--against", baseline]) }]
    : []),
  { name: "generated code is current", run: generatedIsCurrent },
  { name: "biome", run: () => tool("biome", ["check", "--error-on-warnings", "."]) },
  { name: "types", run: () => tool("tsc", ["-b"]) },
];

/** Runs every check, whatever the others say; gives the names of those that failed. */
export async function runChecks() {
  const failed = [];
  for (const check of CHECKS) {
    try {
      await check.run();
      console.log(`check: ${check.name}: ok`);
    } catch (error) {
      failed.push(check.name);
      console.log(`check: ${check.name}: FAILED (${error.message})`);
    }
  }
  return failed;
}
