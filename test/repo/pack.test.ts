import { existsSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { isLong } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { emptyPackage, pack, servesReadsAndSaves } from "./installed.ts";
import { npm, registryOutage } from "./npm.ts";

const native = ["better-sqlite3", "better-sqlite3-v12", "koffi"];
let folder: string;
let tarball: string;

beforeAll(async () => {
  folder = tempDir("pack");
  tarball = await pack(folder);
}, 60_000);

test("the package holds the bundles, the contract and nothing of the sources", async () => {
  const listing = await runCommand("tar", ["tzf", tarball]);
  const files = listing.stdout.trim().split("\n");
  expect(files).toEqual(
    expect.arrayContaining(["package/package.json", "package/bin/gin", "package/proto/gin/v1/service.proto"]),
  );
  expect(files.filter((file) => /^package\/(src|test|bench|scripts|\.)/.test(file))).toEqual([]);
  expect(statSync(tarball).size).toBeLessThan(8 * 2 ** 20);
});

test("installed into an empty folder it serves a directory and answers a read and a save", async (ctx) => {
  const into = emptyPackage(join(folder, "quick"));
  // Native packages are what takes a minute to compile: the ones this repository built are linked in. The long run installs all.
  const install = await npm(["install", "--omit=optional", "--ignore-scripts", tarball], { cwd: into });
  const outage = registryOutage(install);
  if (outage !== undefined) ctx.skip(outage);
  expect(install.code, install.stderr).toBe(0);
  for (const name of native) {
    const built = join(repo, "node_modules", name);
    if (existsSync(built)) symlinkSync(built, join(into, "node_modules", name));
  }
  await servesReadsAndSaves(join(into, "node_modules/gin/bin/gin"));
}, 60_000);

test("a TypeScript program sees the SDK's types through the installed package", async (ctx) => {
  const into = join(folder, "quick");
  if (!existsSync(join(into, "node_modules/gin"))) ctx.skip("the installation above did not take place");
  writeFileSync(
    join(into, "use.ts"),
    'import { mintRequestId } from "gin";\nexport const id: string = mintRequestId();\n// @ts-expect-error\nexport const no: number = mintRequestId();\n',
  );
  const tsc = join(repo, "node_modules/typescript/bin/tsc");
  const flags = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node",
    "--typeRoots",
    join(repo, "node_modules/@types"),
  ];
  const result = await runCommand(process.execPath, [tsc, ...flags, "use.ts"], { cwd: into });
  expect(result).toMatchObject({ code: 0, stdout: "" });
}, 60_000);

test("the whole installation, native packages built as a user's machine builds them, serves as well", async (ctx) => {
  if (!isLong) ctx.skip("compiling takes over a minute: npm run test:long");
  const into = emptyPackage(join(folder, "whole"));
  const install = await npm(["install", tarball], { cwd: into });
  const outage = registryOutage(install);
  if (outage !== undefined) ctx.skip(outage);
  expect(install.code, install.stderr).toBe(0);
  expect(readdirSync(join(into, "node_modules"))).toContain("gin");
  await servesReadsAndSaves(join(into, "node_modules/gin/bin/gin"));
}, 600_000);
