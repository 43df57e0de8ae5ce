// `npm run bench -- NAME`: builds, then runs bench/NAME.ts, whose last line is its JSON.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root, runOrExit } from "./lib/run.mjs";

const [name, ...rest] = process.argv.slice(2);
const folder = join(root, "bench");
const file = join(folder, `${name}.ts`);
if (name === undefined || !/^[a-z-]+$/.test(name) || !existsSync(file)) {
  const names = readdirSync(folder).filter((entry) => entry.endsWith(".ts"));
  console.error(`usage: npm run bench -- NAME, one of: ${names.map((entry) => entry.slice(0, -3)).join(", ")}`);
  process.exit(2);
}
await runOrExit("node", ["scripts/build.mjs"]);
await runOrExit("node", ["node_modules/tsx/dist/cli.mjs", file, ...rest]);
