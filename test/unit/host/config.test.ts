import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mergeConfig, PathsError, parseDaemonOptions, parseSetting, readConfig, writeConfig } from "../../../src/paths/index.ts";
import { tempDir } from "../../helpers/temp.ts";

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof PathsError) return thrown.message;
    throw thrown;
  }
  return "";
}

function fileWith(text: string, mode = 0o600): string {
  const file = join(tempDir("config"), "config.json");
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
  return file;
}

describe("the configuration", () => {
  it("takes the flag over the environment over the file over the default, and says which", () => {
    const { config, sources } = mergeConfig(
      { listen: "none" },
      { GIN_LISTEN: ":1", GIN_REQUIRE_LEASE: "never", GIN_ALLOW_HOSTS: "a, b,,", GIN_IDLE_MS: "" },
      { listen: ":2", require_lease: "always", log_level: "debug" },
    );
    expect([config.listen, config.require_lease, config.log_level, config.idle_ms]).toEqual([
      "none",
      "never",
      "debug",
      1_800_000,
    ]);
    expect(config.allow_hosts).toEqual(["a", "b"]);
    expect([sources.listen, sources.require_lease, sources.log_level, sources.idle_ms]).toEqual([
      "flag",
      "environment",
      "file",
      "default",
    ]);
  });

  it("is empty without a file and 0600 once written", () => {
    const file = join(tempDir("config"), "config.json");
    expect(readConfig(file)).toEqual({});
    expect(writeConfig(file, "log_bytes", "65536")).toEqual({ log_bytes: 65_536 });
    expect(writeConfig(file, "allow_hosts", "x.test,y.test")).toEqual({ log_bytes: 65_536, allow_hosts: ["x.test", "y.test"] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(writeConfig(file, "log_bytes", undefined)).toEqual({ allow_hosts: ["x.test", "y.test"] });
    expect(readConfig(file)).toEqual({ allow_hosts: ["x.test", "y.test"] });
  });

  it("refuses an unknown key and leaves the file as it was", () => {
    const file = fileWith('{"listen":":0"}');
    expect(refusal(() => writeConfig(file, "colour", "red"))).toBe('unknown configuration key "colour"');
    expect(readFileSync(file, "utf8")).toBe('{"listen":":0"}');
    expect(refusal(() => readConfig(fileWith('{"toString":"x"}')))).toBe('unknown configuration key "toString"');
  });

  it.each([
    ['{"listen":1}', "listen must be a text"],
    ['{"require_lease":"sometimes"}', "require_lease must be one of auto, always, never"],
    ['{"idle_ms":"5000"}', "idle_ms must be a whole number from 1000 to 604800000"],
    ['{"idle_ms":999}', "idle_ms must be a whole number from 1000 to 604800000"],
    ['{"allow_hosts":"a"}', "allow_hosts must be a list of texts"],
    ["[]", "config.json is not a JSON object"],
  ])("refuses %s", (text, message) => {
    expect(refusal(() => readConfig(fileWith(text)))).toBe(message);
  });

  it("refuses a file that others can read", () => {
    expect(refusal(() => readConfig(fileWith("{}", 0o644)))).toBe("config.json must be yours alone (mode 600, found 644)");
  });

  it("refuses a number that is not one", () => {
    for (const text of ["", "1e9", "-1", "0x10", "5000.5"])
      expect(refusal(() => parseSetting("idle_ms", text))).toContain("idle_ms must be");
  });
});

describe("the daemon's options", () => {
  it("have defaults", () => {
    expect(parseDaemonOptions("{}")).toEqual({ mode: "foreground", roots: [], settings: {}, lock_wait_ms: 0 });
  });

  it.each([
    ["nonsense", "the daemon's options are not JSON"],
    ['{"token":"x"}', 'unknown option "token"'],
    ['{"settings":{"token":"x"}}', 'unknown setting "token"'],
    ['{"roots":"x"}', "roots must be a list of texts"],
    ['{"mode":"x"}', "mode must be foreground or on_demand"],
    ['{"ready_fd":-1}', "ready_fd must be a descriptor's number"],
  ])("refuse %s", (text, message) => {
    expect(refusal(() => parseDaemonOptions(text))).toBe(message);
  });
});

describe("the setting lsp_servers", () => {
  it("is an object of JSON, checked to its fields, in file, variable and command line", () => {
    const servers = { gopls: { command: "/opt/gopls", args: ["-v"], env: { A: "1" }, settings: { gopls: {} }, disabled: false } };
    expect(readConfig(fileWith(JSON.stringify({ lsp_servers: servers })))).toEqual({ lsp_servers: servers });
    expect(parseSetting("lsp_servers", JSON.stringify(servers))).toEqual(servers);
    expect(mergeConfig({}, { GIN_LSP_SERVERS: '{"clangd":{"disabled":true}}' }, {}).config.lsp_servers).toEqual({
      clangd: { disabled: true },
    });
    const faults: [unknown, string][] = [
      ["text", "must be an object of servers by id"],
      [[], "must be an object of servers by id"],
      [{ nonsense: {} }, 'has no server "nonsense"'],
      [{ toString: {} }, 'has no server "toString"'],
      [{ gopls: [] }, "gopls must be an object"],
      [{ gopls: { comand: "/x" } }, 'gopls has no "comand"'],
      [{ gopls: { command: "gopls" } }, "gopls.command must be an absolute path"],
      [{ gopls: { command: 1 } }, "gopls.command must be an absolute path"],
      [{ gopls: { args: "-v" } }, "gopls.args must be a list of texts"],
      [{ gopls: { env: { A: 1 } } }, "gopls.env must be an object of texts by name"],
      [{ gopls: { settings: [] } }, "gopls.settings must be an object"],
      [{ gopls: { initialization_options: null } }, "gopls.initialization_options must be an object"],
      [{ gopls: { disabled: "yes" } }, "gopls.disabled must be true or false"],
    ];
    for (const [value, said] of faults) {
      expect(
        refusal(() => readConfig(fileWith(JSON.stringify({ lsp_servers: value })))),
        JSON.stringify(value),
      ).toContain(said);
    }
    expect(refusal(() => parseSetting("lsp_servers", "{"))).toContain("lsp_servers must be an object of servers by id");
  });
});
