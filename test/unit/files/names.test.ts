import { describe, expect, it } from "vitest";
import { checkPath, isSensitive, TEMP_PREFIX } from "../../../src/daemon/workspace/files/index.ts";
import { refused, site } from "./variants.ts";

/** Spellings of `.git/config` that some file system, tool or eye takes for it. */
const GIT = [
  ".git/config",
  ".GIT/config",
  ".Git/config",
  ".gIt/config",
  ".giT/CONFIG",
  ".git./config",
  ".git../config",
  ".git /config",
  ".git  /config",
  ".git . ./config",
  ".git\t/config",
  ".git\u00a0/config",
  ".git\u3000/config",
  "git~1/config",
  "GIT~1/config",
  "Git~2/config",
  "git~12/config",
  ".git\\config",
  "sub/.git/config",
  "sub/.GIT/config",
  "a/b/c/.git/config",
  ".git/hooks/pre-commit",
  ".git",
  ".GIT",
  "./.git/config",
  ".git/./config",
  "sub\\.git\\config",
  ".git:stream/config",
  ".git::$INDEX_ALLOCATION/config",
  ".GIT:$I30:$INDEX_ALLOCATION/config",
  ".g\u200bit/config",
  ".gi\u200ct/config",
  ".git\u200d/config",
  "\u200b.git/config",
  ".\u200egit/config",
  ".git\u200f/config",
  ".gi\u2060t/config",
  ".gi\ufefft/config",
  "\ufeff.git/config",
  ".g\u00adit/config",
  ".g\u034fit/config",
  ".git\ufe0f/config",
  ".g\u180eit/config",
  ".g\u2064it/config",
  ".gi\u206at/config",
  ".\uff47it/config",
  ".g\uff49t/config",
  ".gi\uff54/config",
  "\uff0egit/config",
  "\u2024git/config",
  "\uff0e\uff27\uff29\uff34/config",
  ".\u24d6\u24d8\u24e3/config",
  ".\u{1d420}\u{1d422}\u{1d42d}/config",
  ".g\u2170t/config",
  ".\u{1d454}it/config",
  ".gi\u{e0074}t/config",
  ".g\u0131t/config",
  ".git\u202e/config",
  ".git\uff0e/config",
  ".git\u2026/config",
  ".\u1d33it/config",
  "git~1./config",
  "git~1.x/config",
]; // prettier-ignore

describe("protected names", () => {
  it(`are recognised in ${GIT.length} spellings of .git/config, present or not, by every operation`, () => {
    expect(new Set(GIT).size).toBeGreaterThanOrEqual(50);
    const { root } = site();
    const bytes = new Uint8Array(0);
    for (const path of GIT) {
      expect(isSensitive(path), JSON.stringify(path)).toBe(true);
      refused(() => root.locate(path, true), "PATH_SENSITIVE");
      refused(() => root.locate(path, false), "PATH_SENSITIVE");
      refused(() => root.readFile(path, 10), "PATH_SENSITIVE");
      refused(() => root.openFile(path), "PATH_SENSITIVE");
      refused(() => root.readLink(path), "PATH_SENSITIVE");
      refused(() => root.list(path), "PATH_SENSITIVE");
      refused(() => root.makeParents(`${path}/x`), "PATH_SENSITIVE");
      refused(() => root.stage(path, bytes, 0o644), "PATH_SENSITIVE");
      refused(() => root.stageLink(path, "x"), "PATH_SENSITIVE");
      refused(() => root.takeAway(path), "PATH_SENSITIVE");
      refused(() => root.setMode(path, 0o600), "PATH_SENSITIVE");
    }
  });

  it("are the folders and files of secrets, and gin's temps", () => {
    for (const path of [
      ".ssh/id_rsa",
      ".\u017f\u017fh/x",
      ".\u00dfh/x",
      ".aws/credentials",
      ".AW\u017f",
      ".gnupg",
      ".env",
      ".ENV",
      ".env.local",
      ".env.production.local",
      "a/.env.x",
      ".env.example.local",
      ".env.",
      "ssh~1",
      "ENV~1.LOC",
      "GIN-TM~1",
      `${TEMP_PREFIX}x`,
      `sub/${TEMP_PREFIX.toUpperCase()}0`,
      "x/.env:y",
    ]) // prettier-ignore
      expect(isSensitive(path), path).toBe(true);
  });

  it("are not their neighbours", () => {
    for (const path of [
      "",
      "git",
      ".github/workflows/ci.yml",
      ".gitignore",
      ".gitattributes",
      ".gitmodules",
      "a.git/config",
      "..git",
      ".env.example",
      ".env.sample",
      ".env.template",
      ".ENV.Example",
      ".envrc",
      "env",
      "my.env",
      "ssh",
      ".sshrc",
      "src/aws.ts",
      "git~x",
      "file~1",
      ".gin",
      "git/~1",
      "a:b",
      "caf\u00e9/\u00df.txt",
    ]) // prettier-ignore
      expect(isSensitive(path), path).toBe(false);
  });

  it("can be added to, by component, by place and by pattern", () => {
    const { root } = site({ sensitive: ["*.pem", "deploy/prod", "**/secrets", "id_?sa"] });
    for (const path of ["a/b.PEM", "deploy/prod", "Deploy/Prod/x", "x/secrets/y", "secrets", "id_rsa"])
      refused(() => root.locate(path, true), "PATH_SENSITIVE");
    for (const path of ["b.pem2", "x/deploy/prod", "deploy/production", "id_rrsa"])
      expect(root.locate(path, true).stat).toBeUndefined();
    for (const pattern of ["", "a//b", "..", "x".repeat(600)]) refused(() => site({ sensitive: [pattern] }), "INVALID_REQUEST");
  });
});

describe("the spelling of paths", () => {
  const lone = String.fromCharCode(0xd800);

  it.each([
    ["absolute", "/etc/passwd"],
    ["absolute twice", "//etc"],
    ["parent", ".."],
    ["parent first", "../root-evil/x"],
    ["parent inside", "a/../b"],
    ["parent last", "a/.."],
    ["empty component", "a//b"],
    ["trailing slash", "a/"],
    ["NUL", "a\0b"],
    ["NUL at the end", "a.txt\0"],
    ["lone high surrogate", `a${lone}`],
    ["lone low surrogate", "\udc00/x"],
    ["5,000 characters", `${"x/".repeat(2_499)}xy`],
    ["4,097 bytes", `${"é/".repeat(1_365)}xx`],
    ["a component of 256 bytes", "x".repeat(256)],
    ["a component of 256 bytes in fewer characters", "é".repeat(128)],
  ])("refuses %s", (_what, path) => {
    refused(() => checkPath(path), "PATH_INVALID");
    const { root } = site();
    refused(() => root.locate(path, true), "PATH_INVALID");
    refused(() => root.readFile(path, 10), "PATH_INVALID");
    refused(() => root.stage(path, new Uint8Array(0), 0o644), "PATH_INVALID");
    refused(() => root.takeAway(path), "PATH_INVALID");
    refused(() => root.makeParents(path), "PATH_INVALID");
  });

  it("accepts everything else and drops dots", () => {
    expect(checkPath("")).toBe("");
    expect(checkPath(".")).toBe("");
    expect(checkPath("./a/./b/.")).toBe("a/b");
    for (const path of [
      "a",
      "a b",
      "a/b.txt",
      "...",
      "%2e%2e/x",
      "a\\b",
      "tab\there",
      "x".repeat(255),
      "é".repeat(127),
      `${"x/".repeat(2_047)}x`,
      "\u{1f600}",
    ]) {
      expect(checkPath(path)).toBe(path);
    }
  });

  it("takes no name with control, direction or backslash characters for a new entry, but reads those there are", async () => {
    const { root, dir } = site();
    const { writeFileSync } = await import("node:fs");
    for (const name of ["a\nb", "esc\u001b[31m", "del\u007f", "c1\u0085", "rtl\u202egpj.exe", "lri\u2066", "a\\b", "ls\u2028"]) {
      refused(() => root.stage(name, new Uint8Array(0), 0o644), "PATH_INVALID");
      refused(() => root.stageLink(name, "x"), "PATH_INVALID");
      refused(() => root.makeParents(`${name}/x`), "PATH_INVALID");
      writeFileSync(`${dir}/${name}`, "there");
      expect(root.readFile(name, 10).bytes.toString()).toBe("there");
      root.discard(root.stage(name, new Uint8Array(0), 0o644).temp);
    }
  });
});
