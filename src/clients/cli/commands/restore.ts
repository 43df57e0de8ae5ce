import { spawn } from "node:child_process";
import { resolve } from "node:path";
import type { NotRestoredLine, RestoredLine, RestoreOptions } from "../../../paths/index.ts";
import { EngineError, errorDetail, programFile } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { located } from "../located.ts";
import { bytes } from "../output.ts";
import { showLine } from "../terminal.ts";

/** Puts a backup in the place of the host's store; no daemon may run. The daemon's own program does it: the store is its business alone. */
export const command: Command = {
  usage: "restore DIR [--replace]",
  words: [1, 1],
  flags: { replace: { type: "boolean" } },
  help: [
    ["DIR", "a directory that gin backup made"],
    ["--replace", "move a store that has workspaces aside; it is never deleted"],
  ],
  async run(context) {
    const options: RestoreOptions = {
      backup: resolve(context.positionals[0] ?? ""),
      ...located(context),
      replace: context.values.replace === true,
    };
    const said = await restored(options);
    if (!said.restored) {
      const detail = errorDetail({ reason: said.reason, message: said.message, suggestion: said.suggestion });
      if (detail === undefined) throw new Error("the restore said nothing that can be told");
      throw new EngineError(detail, "", undefined);
    }
    const { out } = context;
    if (context.json) {
      out.json(said);
      return undefined;
    }
    out.line(`${bytes(String(said.bytes))} restored into ${showLine(said.data)}`);
    if (said.moved_aside !== "") out.line(`the store that was there is in ${showLine(said.moved_aside)}`);
    out.table(
      ["workspace", "name", "gen", "root"],
      said.workspaces.map(({ id, name, generation, root }) => [id, name, String(generation), root]),
    );
    out.line("the next start gives new incarnations and ends all leases; what changed since the backup is recorded as external");
    out.line("tokens are those of the backup, revoked ones of later included: gin token list");
    return undefined;
  },
};

/** Runs the program and reads the one line it says; its end without one is a fault of the installation. */
function restored(options: RestoreOptions): Promise<RestoredLine | NotRestoredLine> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [programFile("daemon.mjs"), "restore", JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    child.once("error", fail);
    child.once("close", () => {
      try {
        done(JSON.parse(text) as RestoredLine | NotRestoredLine);
      } catch (thrown) {
        fail(new Error("the daemon's program ended without a word", { cause: thrown }));
      }
    });
  });
}
