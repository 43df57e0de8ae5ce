import { expect, test } from "vitest";
import { goingOn } from "../../../src/clients/cli/again.ts";

test("a command line that goes on takes a cursor that begins with a dash for what it is", () => {
  expect(goingOn(["log", "--limit", "1"], "abc")).toBe("gin log --limit 1 --cursor abc");
  expect(goingOn(["log", "--cursor", "abc"], "-xyz")).toBe("gin log --cursor=-xyz");
  expect(goingOn(["log", "--cursor=-xyz", "--", "a"], "def")).toBe("gin log --cursor def -- a");
});
