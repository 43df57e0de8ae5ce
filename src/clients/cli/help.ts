import { SESSION_HELP } from "../sdk/index.ts";
import type { Command } from "./command.ts";
import type { Output } from "./output.ts";
import { COMMANDS } from "./table.ts";

/** The list of commands. */
export function generalHelp(out: Output): undefined {
  out.line(`${out.style("bold", "gin")}: a local daemon that owns a workspace for many coding agents\n`);
  const widest = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  for (const [name, { summary }] of Object.entries(COMMANDS)) out.line(`  ${out.style("cyan", name.padEnd(widest))}  ${summary}`);
  out.line(
    "\ngin help COMMAND tells its flags. Exit status: 0 done, 1 refused, 2 wrong usage, 3 no daemon reached, 4 outcome unknown.",
  );
}

/** What one command takes. */
export function commandHelp(out: Output, words: string, command: Command): undefined {
  out.line(`gin ${command.usage}\n${COMMANDS[words]?.summary ?? ""}`);
  if (command.help !== undefined && command.help.length > 0) {
    out.line();
    pairs(out, command.help);
  }
  if (command.bare === true) return;
  out.line(`\n${out.style("dim", "for every command")}`);
  pairs(out, [
    ["--json", "print the response message"],
    ...SESSION_HELP.map(([flag, variable, meaning]) => [flag, variable === "" ? meaning : `${meaning} (${variable})`] as const),
  ]);
}

function pairs(out: Output, rows: readonly (readonly [flag: string, meaning: string])[]): undefined {
  const widest = Math.max(...rows.map(([flag]) => flag.length));
  for (const [flag, meaning] of rows) out.line(`  ${out.style("cyan", flag.padEnd(widest))}  ${meaning}`);
}
