import { expect, test } from "vitest";
import { milliseconds, openSession, sessionOptions, UsageError } from "../../../src/clients/sdk/index.ts";

test("a flag wins over its variable, and an empty variable is none", () => {
  const env = { GIN_HOST: "/h", GIN_PRINCIPAL: "env", GIN_WORKSPACE: "", GIN_TIMEOUT: "2m" };
  expect(sessionOptions({ principal: "flag" }, env)).toMatchObject({
    host: "/h",
    principal: "flag",
    workspace: undefined,
    timeoutMs: 120_000,
  });
});

test.each([
  [undefined, false],
  ["", false],
  ["0", false],
  ["false", false],
  ["1", true],
  ["yes", true],
])("GIN_NO_SPAWN=%s forbids starting: %s", (value, forbids) => {
  expect(sessionOptions({}, { GIN_NO_SPAWN: value }).noSpawn).toBe(forbids);
});

test("a root and a workspace of one kind contradict each other; a flag beats the other's variable", () => {
  expect(() => sessionOptions({ root: "/r", workspace: "w" }, {})).toThrow(UsageError);
  expect(() => sessionOptions({}, { GIN_ROOT: "/r", GIN_WORKSPACE: "w" })).toThrow(UsageError);
  expect(sessionOptions({ root: "/r" }, { GIN_WORKSPACE: "w" })).toMatchObject({ root: "/r", workspace: undefined });
  expect(sessionOptions({ workspace: "w" }, { GIN_ROOT: "/r" })).toMatchObject({ root: undefined, workspace: "w" });
});

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["2m", 120_000],
  ["1h", 3_600_000],
  ["7d", 604_800_000],
  ["250", 250],
])("%s is %d ms", (text, ms) => {
  expect(milliseconds(text, "--timeout")).toBe(ms);
});

test.each(["", "-1", "1.5s", "s", "10 s", "1e3"])("%j is no time", (text) => {
  expect(() => milliseconds(text, "--timeout")).toThrow("--timeout");
});

test.each(["127.0.0.1:7400", "ftp://x", "", "http://user:secret@x"])("%j is no endpoint", (endpoint) => {
  expect(() => openSession({ endpoint })).toThrow(UsageError);
});
