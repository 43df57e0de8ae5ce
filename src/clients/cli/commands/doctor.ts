import { locateHost } from "../../../paths/index.ts";
import { type Check, hostChecks, machineChecks } from "../checks.ts";
import type { Command } from "../command.ts";
import { daemonChecks } from "../daemon-checks.ts";
import { located } from "../located.ts";
import type { Style } from "../output.ts";
import { EXIT } from "../run.ts";
import { showLine } from "../terminal.ts";

const STYLES: { readonly [state in Check["state"]]: Style } = { ok: "green", note: "yellow", wrong: "red" };

/** Checks machine, installation, host directory, store and daemon, and says the one command that mends what is wrong. Changes nothing. */
export const command: Command = {
  usage: "doctor",
  async run(context) {
    const paths = locateHost(located(context), context.env);
    const checks = [
      ...machineChecks(paths),
      ...hostChecks(paths),
      ...(await daemonChecks(context.session({ noSpawn: true }), paths, context.options().timeoutMs)),
    ];
    const { out } = context;
    const wrong = checks.some((check) => check.state === "wrong");
    if (context.json) {
      out.json({ ok: !wrong, checks });
      return wrong ? EXIT.refused : undefined;
    }
    const widest = Math.max(...checks.map((check) => check.name.length));
    for (const { name, state, text, mend } of checks) {
      out.line(`${out.style(STYLES[state], state.padEnd(5))}  ${name.padEnd(widest)}  ${showLine(text)}`);
      if (mend !== "") out.line(`${" ".repeat(widest + 9)}${out.style("cyan", showLine(mend))}`);
    }
    return wrong ? EXIT.refused : undefined;
  },
};
