import { expect, test } from "vitest";
import { goingOn } from "../../../src/clients/cli/again.ts";

test("a command line that goes on has the new cursor in the place of the one it had", () => {
  expect(goingOn(["log", "--limit", "1"], "abc")).toBe("gin log --limit 1 --cursor abc");
  expect(goingOn(["log", "--cursor", "abc"], "xyz")).toBe("gin log --cursor xyz");
  expect(goingOn(["log", "--cursor=abc", "--", "a"], "def")).toBe("gin log --cursor def -- a");
});
