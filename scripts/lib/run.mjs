import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a command in the repository with this terminal's output; rejects unless it exits 0. */
export function run(command, args, options = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], ...options });
    child.once("error", fail);
    child.once("exit", (code, signal) => {
      if (code === 0) done();
      else fail(new Error(`${command} ${args.join(" ")}: ${signal ?? `exit ${code}`}`));
    });
  });
}

/** The same for a script that cannot go on without it: ends this process when it fails. */
export async function runOrExit(command, args) {
  try {
    await run(command, args);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
