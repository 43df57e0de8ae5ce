import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repo } from "../helpers/repo.ts";

const lock = readFileSync(join(repo, "package-lock.json"), "utf8");
const manifest = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as Record<string, Record<string, string>>;

test("the lock names no registry, so that any mirror serves it", () => {
  expect(lock).not.toContain('"resolved"');
  // The addresses that are left are where packages ask for funding.
  const addresses = lock.split("\n").filter((line) => line.includes("://"));
  expect(addresses.filter((line) => !/^\s*("(url|funding)": )?"https:[^"]*",?$/.test(line))).toEqual([]);
});

test("every version is an exact pin", () => {
  for (const group of ["dependencies", "devDependencies", "optionalDependencies"]) {
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      expect(version, name).toMatch(/^(npm:better-sqlite3@)?\d+\.\d+\.\d+$/);
    }
  }
});

test("the lock carries every platform's optional binaries", () => {
  for (const name of ["@esbuild/linux-x64", "@esbuild/darwin-arm64", "@biomejs/cli-linux-x64"]) {
    expect(lock).toContain(`"node_modules/${name}"`);
  }
});

test("SQLite loads on this Node", () => {
  const require = createRequire(import.meta.url);
  const name = Number(process.versions.napi) >= 10 ? "better-sqlite3" : "better-sqlite3-v12";
  expect(existsSync(join(repo, "node_modules", name))).toBe(true);
  const Database = require(name) as new (
    path: string,
  ) => { prepare(sql: string): { pluck(): { get(): unknown } }; close(): void };
  const database = new Database(":memory:");
  expect(database.prepare("select sqlite_version()").pluck().get()).toMatch(/^3\.\d+\.\d+$/);
  database.close();
});
