import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { completed } from "../../../src/clients/cli/complete.ts";
import { COMMANDS } from "../../../src/clients/cli/table.ts";
import { runCommand } from "../../helpers/process.ts";
import { tempDir } from "../../helpers/temp.ts";
import { drive } from "./drive.ts";

/** The script of a shell, in a file. */
async function script(shell: string): Promise<string> {
  const { status, stdout, stderr } = await drive(["completion", shell]);
  expect([status, stderr]).toEqual([0, ""]);
  const file = join(tempDir("completion"), `gin.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

async function present(shell: string): Promise<boolean> {
  return (await runCommand("sh", ["-c", `command -v ${shell}`])).code === 0;
}

/** What bash offers at the end of each command line: one run of a real bash for all of them. */
async function offered(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const file = await script("bash");
  const asked = lines.map(
    (words) =>
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _gin; echo "\${COMPREPLY[*]}"`,
  );
  const run = await runCommand("bash", [
    "--noprofile",
    "--norc",
    "-c",
    [`source ${file}`, "complete -p gin", ...asked].join("\n"),
  ]);
  expect([run.code, run.stderr]).toEqual([0, ""]);
  const [registered, ...answers] = run.stdout.slice(0, -1).split("\n");
  expect(registered).toBe("complete -F _gin gin");
  return answers.map((answer) => answer.split(" ").filter((word) => word !== ""));
}

test("a real bash completes every command of the table, and every flag of each", async (ctx) => {
  if (!(await present("bash"))) return ctx.skip("needs bash");
  const commands = await completed();
  expect(commands.map(({ words }) => words)).toEqual(Object.keys(COMMANDS));
  const [first = [], ...flags] = await offered([["gin", ""], ...commands.map(({ words }) => ["gin", ...words.split(" "), "-"])]);
  expect(first).toEqual([...new Set(Object.keys(COMMANDS).map((words) => words.split(" ")[0]))]);
  for (const [index, { words, flags: own }] of commands.entries()) {
    expect(flags[index], words).toEqual(own.map(({ name }) => name));
  }
  return undefined;
});

test("a real bash completes what was begun, second words, shells, and nothing after a flag that takes a value", async (ctx) => {
  if (!(await present("bash"))) return ctx.skip("needs bash");
  const lines: [string[], string[]][] = [
    [
      ["gin", "lo"],
      ["log", "logs"],
    ],
    [
      ["gin", "lease", ""],
      ["acquire", "renew", "release", "list", "break"],
    ],
    [
      ["gin", "lease", "re"],
      ["renew", "release"],
    ],
    [["gin", "lease", "acquire", "--tt"], ["--ttl"]],
    [["gin", "--host", "somewhere", "wat"], ["watch"]],
    [["gin", "watch", "--ki"], ["--kind"]],
    [["gin", "watch", "--kind", ""], []],
    [["gin", "log", "--gr"], ["--graph"]],
    [["gin", "completion", "b"], ["bash"]],
    [["gin", "help", "tok"], ["token"]],
    [["gin", "read", "src/"], []],
  ];
  const answers = await offered(lines.map(([words]) => words));
  for (const [index, [words, wanted]] of lines.entries())
    expect(answers[index]?.toSorted(), words.join(" ")).toEqual(wanted.toSorted());
  return undefined;
});

test("a real zsh takes its script, and registers it", async (ctx) => {
  if (!(await present("zsh"))) return ctx.skip("needs zsh");
  const file = await script("zsh");
  const run = await runCommand("zsh", ["-f", "-c", `autoload -U compinit && compinit -D && source ${file} && echo $_comps[gin]`]);
  expect([run.code, run.stdout, run.stderr]).toEqual([0, "_gin\n", ""]);
  return undefined;
});

test("a real fish completes from its script", async (ctx) => {
  if (!(await present("fish"))) return ctx.skip("needs fish");
  const file = await script("fish");
  const run = await runCommand("fish", [
    "--no-config",
    "-c",
    `source ${file}; complete -C 'gin lease re'; complete -C 'gin watch --ki'`,
  ]);
  expect(run.stderr).toBe("");
  expect(run.stdout.split("\n").map((line) => line.split("\t")[0])).toEqual(["release", "renew", "--kind", ""]);
  return undefined;
});

test("a shell that is not known is wrong usage, and so is none", async () => {
  const wrong = await drive(["completion", "tcsh"]);
  expect([wrong.status, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).toContain('gin completes for bash, zsh, fish, not for "tcsh"');
  expect((await drive(["completion"])).status).toBe(2);
});
