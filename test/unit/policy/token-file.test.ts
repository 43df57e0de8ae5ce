import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readTokenFile, TokenFileError, writeTokenFile } from "../../../src/daemon/policy/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const TOKEN = `gin_0123456789_${"a".repeat(43)}_abcdef`;

/** How a reading fails. */
function fault(file: string): string {
  try {
    readTokenFile(file);
  } catch (cause) {
    if (cause instanceof TokenFileError) return cause.fault;
    throw cause;
  }
  return "none";
}

test("what is written is read, 0600, with nothing beside it", () => {
  const directory = tempDir("token");
  const file = `${directory}/token`;
  writeTokenFile(file, "gin_old");
  writeTokenFile(file, TOKEN);
  expect(readTokenFile(file)).toBe(TOKEN);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(["token"]);
});

test("files that others could have made or read are refused, saying why", () => {
  const directory = tempDir("token");
  const good = `${directory}/token`;
  writeTokenFile(good, TOKEN);
  expect(fault(`${directory}/none`)).toBe("missing");
  expect(fault(`${directory}/none/token`)).toBe("missing");
  symlinkSync(good, `${directory}/link`);
  expect(fault(`${directory}/link`)).toBe("not_regular");
  mkdirSync(`${directory}/folder`, { mode: 0o700 });
  expect(fault(`${directory}/folder`)).toBe("not_regular");
  execFileSync("mkfifo", [`${directory}/fifo`]);
  expect(fault(`${directory}/fifo`)).toBe("not_regular");
  for (const mode of [0o640, 0o604, 0o620, 0o777]) {
    chmodSync(good, mode);
    expect(fault(good)).toBe("mode");
  }
  chmodSync(good, 0o400);
  expect(fault(good)).toBe("none");
  writeFileSync(`${directory}/large`, `${TOKEN}${" ".repeat(4096)}`, { mode: 0o600 });
  expect(fault(`${directory}/large`)).toBe("too_large");
  writeFileSync(`${directory}/other`, "hunter2", { mode: 0o600 });
  expect(fault(`${directory}/other`)).toBe("malformed");
  chmodSync(directory, 0o777);
  expect(fault(good)).toBe("directory");
  expect(() => writeTokenFile(good, TOKEN)).toThrow(TokenFileError);
  chmodSync(directory, 0o700);
});

test("another user's file is refused", (ctx) => {
  if (process.geteuid?.() !== 0) ctx.skip("needs root, to give a file away");
  const file = `${tempDir("token")}/token`;
  writeTokenFile(file, TOKEN);
  chownSync(file, 12345, 12345);
  expect(fault(file)).toBe("owner");
});
