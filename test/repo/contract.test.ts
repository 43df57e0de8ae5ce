import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { tempDir } from "../helpers/temp.ts";

/** A copy of the contract to break on purpose. */
let scratch: string;

beforeAll(() => {
  scratch = tempDir("contract");
  for (const name of ["buf.yaml", "proto"]) cpSync(join(repo, name), join(scratch, name), { recursive: true });
});

const buf = (...args: string[]) => runCommand(join(repo, "node_modules/.bin/buf"), args, { cwd: scratch });

test("the baseline of the contract is committed", () => {
  expect(existsSync(join(repo, "proto/baseline.binpb"))).toBe(true);
});

test("the breaking check passes as it is, and sees a field that was taken away", async () => {
  const before = await buf("breaking", "--against", "proto/baseline.binpb");
  expect(before).toMatchObject({ code: 0, stdout: "" });
  const file = join(scratch, "proto/gin/v1/save.proto");
  const text = readFileSync(file, "utf8");
  const field = text.split("\n").find((line) => /^ {2}\w+ \w+ = \d+;/.test(line));
  expect(field).toBeDefined();
  writeFileSync(file, text.replace(`${field}\n`, ""));
  const after = await buf("breaking", "--against", "proto/baseline.binpb");
  writeFileSync(file, text);
  expect(after.code).toBe(100);
  expect(after.stdout).toContain("was deleted");
});

test("the lint refuses a field that is not snake case", async () => {
  const file = join(scratch, "proto/gin/v1/save.proto");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `${text}\nmessage Forbidden {\n  string notSnake = 1;\n}\n`);
  const result = await buf("lint");
  writeFileSync(file, text);
  expect(result.code).toBe(100);
  expect(result.stdout).toContain("lower_snake_case");
});
