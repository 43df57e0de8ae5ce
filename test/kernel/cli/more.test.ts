import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { goingOn } from "../../../src/clients/cli/again.ts";
import { startDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { ginBin, runGin } from "../../helpers/gin.ts";
import { type Finished, runCommand } from "../../helpers/process.ts";
import { tempHost } from "../../helpers/temp.ts";

describe("the line after a page", () => {
  const { root, host } = tempHost();
  let daemon: TestDaemon;
  let head = "";
  // Not told where its host is but by flags, as a person may have it: what is printed must carry them.
  const shell = (line: string): Promise<Finished> =>
    runCommand("bash", ["-c", `gin() { '${process.execPath}' '${ginBin}' "$@"; }; ${line}`], { env: { GIN_HOST: "/nowhere" } });
  const gin = (...args: string[]): Promise<Finished> => runGin(args, { host, cwd: root });

  beforeAll(async () => {
    mkdirSync(join(root, "it's"));
    for (const name of ["a", "b", "c"]) writeFileSync(join(root, "it's", name), `${name}\n`.repeat(3));
    daemon = await startDaemon({ host, root });
    for (const [at, name] of ["a", "b", "c"].entries()) {
      const from = join(root, "it's", name);
      writeFileSync(from, `1 of ${at}\n2 of ${at}\n3 of ${at}\n`);
      await gin("log");
      await gin("annotate", "--on", `it's/${name}`, "-m", `note ${at}`);
      await gin("lease", "acquire", `it's/${name}`);
    }
    head = JSON.parse((await gin("log", "--limit", "1", "--json")).stdout).checkpoints[0].id;
  }, 60_000);
  afterAll(async () => {
    await daemon.stop();
  });

  test.each([
    ["log", () => 'log "it\'s" --cause external --limit 1'],
    ["log --graph", () => "log --graph --limit=1"],
    ["diff", () => 'diff base --path "it\'s" --limit 60'],
    ["origin", () => 'origin "it\'s" --limit 1'],
    ["origin --at", () => `origin --limit 1 --at ${head} -- "it's"`],
    ["annotations", () => 'annotations --path "it\'s" --limit 1'],
    ["lease list", () => "lease list --limit 1"],
    ["read", () => 'read "it\'s/a" --limit 7 --lines 1-3'],
    ["read of a directory", () => 'read "it\'s" --limit 1'],
    ["details", () => `details ${head.replace("ck_", "dt_")} --limit 20`],
  ])("of gin %s runs as it is printed, and goes on", async (_, line) => {
    const first = await shell(`gin --host '${host}' --root '${root}' ${line()}`);
    const next = /^more: (gin .*)$/m.exec(first.stderr)?.[1] ?? "";
    expect([first.code, first.stderr, next]).toEqual([0, expect.any(String), expect.stringContaining(" --cursor ")]);
    const second = await shell(next);
    expect([second.code, second.stderr.replace(/^more: .*\n/m, "")]).toEqual([0, ""]);
    expect(second.stdout).not.toBe("");
    expect(second.stdout).not.toBe(first.stdout);
    const after = /^more: (gin .*)$/m.exec(second.stderr)?.[1];
    if (after !== undefined) expect(after.replace(/ --cursor \S+/, "")).toBe(next.replace(/ --cursor \S+/, ""));
  });
});

test("a line that goes on has the new cursor alone, before the words behind --, each quoted for a shell", () => {
  expect(goingOn(["log", "--cursor", "c0", "a b", "--by=x"], "c1")).toBe("gin log 'a b' --by=x --cursor c1");
  expect(goingOn(["log", "--cursor=c0", "--", "--cursor", "it's"], "c1")).toBe("gin log --cursor c1 -- --cursor 'it'\\''s'");
  expect(goingOn(["watch", "--since", "c0", "--kind", "lease"], "c1", "--since")).toBe("gin watch --kind lease --since c1");
  expect(goingOn(["log", "\x1b[2J"], "c1")).toBe("gin log '\\x1b[2J' --cursor c1");
});
