import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { openRoot } from "../../../src/daemon/workspace/files/index.ts";
import { createIgnoreRules, type OuterRules } from "../../../src/daemon/workspace/ignore/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { tempDir } from "../../helpers/temp.ts";

const TREES = scaled(60);
const NAMES = ["a", "b", "ab", "abc", "a.o", "B", "x y", "é", "#a", "!b", "[a]", "a-b", "ba", "aé", "\\", "-", "a\nb"];

/** A line of a .gitignore: mostly sensible, now and then anything. */
function pattern(random: Chance): string {
  const piece = (): string =>
    random.maybe(0.55)
      ? random.pick(NAMES.filter((name) => !name.includes("\n")))
      : random.pick([
          "*",
          "?",
          "**",
          "*a",
          "a*",
          "*.o",
          "[ab]",
          "[!a]",
          "[^b]",
          "[a-c]*",
          "[[:alpha:]]",
          "a?",
          "\\#a",
          "\\!b",
          "*b*",
          "[]a]",
          "[a",
          "\\a",
        ]);
  const count = 1 + random.int(3);
  let line = Array.from({ length: count }, piece).join(random.maybe(0.8) ? "/" : "");
  if (random.maybe(0.25)) line = `/${line}`;
  if (random.maybe(0.2)) line += "/";
  if (random.maybe(0.1)) line += "/**";
  if (random.maybe(0.3)) line = `!${line}`;
  if (random.maybe(0.05)) line += random.pick([" ", "\\ ", "  ", "\t", "\r", "\\"]);
  return line;
}

const rules = (random: Chance): string =>
  Array.from({ length: 1 + random.int(4) }, () => pattern(random)).join("\n") + (random.maybe(0.8) ? "\n" : "");

interface Place {
  readonly path: string;
  readonly directory: boolean;
}

/** Makes a random tree with rules in it; gives every path of it. */
function grow(random: Chance, root: string): Place[] {
  const places: Place[] = [];
  const fill = (directory: string, depth: number): void => {
    for (const name of new Set(Array.from({ length: 2 + random.int(4) }, () => random.pick(NAMES)))) {
      const path = directory === "" ? name : `${directory}/${name}`;
      const isDirectory = depth < 3 && random.maybe(0.5);
      places.push({ path, directory: isDirectory });
      if (isDirectory) {
        mkdirSync(join(root, path), { recursive: true });
        fill(path, depth + 1);
      } else writeFileSync(join(root, path), "");
    }
    if (random.maybe(0.4)) writeFileSync(join(root, directory, ".gitignore"), rules(random));
  };
  fill("", 0);
  return places;
}

test(`random trees and rules: as git check-ignore says (${TREES} trees)`, async (ctx) => {
  if ((await runCommand("git", ["--version"]).catch(() => undefined))?.code !== 0) ctx.skip("git is not installed");
  const random = chance("ignore oracle");
  let paths = 0;
  let ignored = 0;
  for (let tree = 0; tree < TREES; tree++) {
    const top = tempDir("ignore");
    await runCommand("git", ["init", "-q", top]);
    const prefix = random.maybe(0.3) ? random.pick(["a", "a/b", "é"]) : "";
    const root = join(top, prefix);
    mkdirSync(root, { recursive: true });
    const places = grow(random, root);
    const global = rules(random);
    const own = rules(random);
    const above = rules(random);
    writeFileSync(join(top, ".git/global"), global);
    writeFileSync(join(top, ".git/info/exclude"), own);
    const files = [
      { directory: "", text: global },
      { directory: "", text: own },
    ];
    if (prefix !== "") {
      writeFileSync(join(top, ".gitignore"), above);
      files.push({ directory: "", text: above });
      if (prefix === "a/b") {
        writeFileSync(join(top, "a/.gitignore"), own);
        files.push({ directory: "a", text: own });
      }
    }
    const ignoreCase = random.maybe(0.3);
    const settings = ["-c", `core.excludesFile=${join(top, ".git/global")}`, "-c", `core.ignoreCase=${ignoreCase}`];
    const asked = await runCommand("git", [...settings, "check-ignore", "--no-index", "--stdin", "-z"], {
      cwd: root,
      input: places.map(({ path }) => `${path}\0`).join(""),
    });
    expect(asked.stderr).toBe("");
    // A root that is ignored itself, as a whole, is no workspace of its rules: gin looks at what is in it all the same.
    const inIgnored = (await runCommand("git", [...settings, "check-ignore", "--no-index", "-q", "."], { cwd: root })).code === 0;
    if (inIgnored) continue;
    const wanted = new Set(asked.stdout.split("\0"));
    const outer: OuterRules = { prefix, files, ignoreCase };
    const confined = openRoot(root, { fs: nodeFs, random: systemRandom, failPoints: noFailPoints });
    const ours = createIgnoreRules({ root: confined, path: root, fs: nodeFs, outer });
    for (const { path, directory } of places) {
      paths++;
      const said = ours.ignored(path, directory);
      if (said) ignored++;
      if (said !== wanted.has(path)) {
        const why = await runCommand("git", [...settings, "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"], {
          cwd: root,
          input: `${path}\0`,
        });
        expect.fail(
          `seed ${random.seed} tree ${tree}: ${JSON.stringify(path)} ours ${said}; git: ${JSON.stringify(why.stdout)}; rules ${JSON.stringify(outer)}`,
        );
      }
    }
    confined.close();
    rmSync(top, { recursive: true });
  }
  console.log(`ignore oracle: ${paths} paths, ${ignored} ignored`);
  expect(paths).toBeGreaterThan(TREES * 5);
});
