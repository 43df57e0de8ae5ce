import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";

/** Tracked text files, generated ones and the lock apart, with their lines. */
let files: readonly { readonly path: string; readonly lines: readonly string[] }[];

beforeAll(async () => {
  const listed = await runCommand("git", ["ls-files", "-z"], { cwd: repo });
  const paths = listed.stdout
    .split("\0")
    .filter((path) => path !== "" && !/^src\/gen\/|^package-lock\.json$|\.binpb$/.test(path));
  files = paths
    .filter((path) => statSync(join(repo, path), { throwIfNoEntry: false })?.isFile())
    .map((path) => ({ path, lines: readFileSync(join(repo, path), "utf8").split("\n") }));
});

/** "file:line: text" of each line that matches. */
function found(pattern: RegExp, within: RegExp): string[] {
  return files
    .filter(({ path }) => within.test(path))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
}

const everywhere = /(?:)/;
const code = /^(src|test|bench|scripts)\//;
const literal = (text: string): RegExp => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

test("no file names this machine's folder or a registry's host", () => {
  expect(found(literal(`${repo}/`), everywhere)).toEqual([]);
  expect(
    found(/\bregistry\.(npmjs|yarnpkg)\b|\bpypi\.org|\bproxy\.golang\b|\bdeb\.debian\b/, /^(?!test\/repo\/hygiene)/),
  ).toEqual([]);
});

test("nothing is switched off or left for later", () => {
  const words = ["\\.only\\(", "\\.todo\\(", "@ts-ignore", "@ts-nocheck", "\\bTODO\\b", "\\bFIXME\\b", "\\bXXX\\b"];
  expect(found(new RegExp(words.join("|")), /^(src|bench|scripts|test\/(?!repo\/hygiene))/)).toEqual([]);
  // A suppression gives its reason after the colon.
  expect(found(/biome-ignore[^:]*$|biome-ignore [^:]*: *$/, /^(src|bench|scripts|test\/(?!repo\/hygiene))/)).toEqual([]);
});

test("no source file has grown past 600 lines", () => {
  expect(files.filter(({ path, lines }) => code.test(path) && lines.length > 600).map(({ path }) => path)).toEqual([]);
});

test("the closing line of a run counts what ran, and an unexplained skip or an overrun is a failure", async () => {
  const script = `
    import { Tally } from "./scripts/lib/tally.mjs";
    const tally = new Tally();
    const line = (state, note) => ({ kind: "test", state, name: state, note });
    const suite = { name: "unit", seconds: 60 };
    const run = { timedOut: false, leftovers: [], ok: true };
    tally.addRun(suite, "7", { ...run, lines: [line("passed", ""), line("passed", ""), line("skipped", "no loop device")] });
    if (process.argv[1] === "bad") {
      tally.addRun(suite, "7", { ...run, lines: [line("skipped", "")] });
      tally.addRun(suite, "7", { ...run, lines: [line("failed", "")], ok: false });
      tally.addRun(suite, "7", { ...run, lines: [], timedOut: true, ok: false });
      tally.addRun(suite, "7", { ...run, lines: [], ok: false });
      tally.addRun(suite, "7", { ...run, lines: [], leftovers: ["gin serve"] });
    }
    tally.print();`;
  const last = async (argument: string): Promise<string | undefined> => {
    const result = await runCommand(process.execPath, ["--input-type=module", "-e", script, argument], { cwd: repo });
    return result.stdout.trimEnd().split("\n").at(-1);
  };
  expect(await last("good")).toBe("gin: 2 passed, 0 failed, 1 skipped");
  expect(await last("bad")).toBe("gin: 2 passed, 5 failed, 2 skipped");
});
