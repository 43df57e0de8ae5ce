// `npm run check`: contract, generated code, lint and types; warnings are errors.
import { runChecks } from "./lib/checks.mjs";

process.exitCode = (await runChecks()).length === 0 ? 0 : 1;
