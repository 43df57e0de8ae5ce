import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { runGin } from "../helpers/gin.ts";
import { type Finished, type Owned, runCommand, spawnOwned } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A reader's shell: a fresh directory, `gin` on the PATH, and its own host. Directory and exports carry over from block to block. */
export interface Session {
  /** Runs a block to its end; standard error is in `stdout`, as on a terminal. */
  run(script: string): Promise<Finished>;
  /** Starts a block that serves, and waits for the first line of its standard output: the ready line. It is ended at teardown. */
  serve(script: string): Promise<string>;
}

/** Opens a session; its daemon is stopped at teardown. */
export function openSession(): Session {
  const dir = tempDir("docs");
  const at = (name: string): string => join(dir, name);
  for (const name of ["project", "home", "run", "host"]) mkdirSync(at(name), { mode: 0o700 });
  writeFileSync(at("exports"), `cd ${at("project")}\n`);
  const env = {
    PATH: `${join(repo, "bin")}${delimiter}${process.env.PATH ?? ""}`,
    HOME: at("home"),
    XDG_RUNTIME_DIR: at("run"),
    XDG_STATE_HOME: undefined,
    XDG_CONFIG_HOME: undefined,
    GIN_HOST: at("host"),
  };
  atTeardown(async () => {
    await runGin(["stop"], { host: at("host"), cwd: dir, env });
  });
  const wrap = (script: string, streams: string): string[] => [
    "-c",
    `set -euo pipefail\nsource ${at("exports")}\n${streams}\ntrap '{ export -p; echo "cd \\"$PWD\\""; } > ${at("exports")}' EXIT\n${script}\n`,
  ];
  return {
    run: (script) => runCommand("bash", wrap(script, "exec 2>&1"), { cwd: dir, env }),
    serve: (script) => {
      const child = spawnOwned("bash", wrap(script, ""), { cwd: dir, env });
      child.stdin.end();
      return firstLine(child);
    },
  };
}

/** A child's first line; rejects with all it wrote when it ends before. */
function firstLine(child: Owned): Promise<string> {
  let text = "";
  let aside = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => {
    aside += more;
  });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => fail(new Error(`ended with ${code}:\n${text}${aside}`)));
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (text.includes("\n")) done(text.slice(0, text.indexOf("\n")));
    });
  });
}
