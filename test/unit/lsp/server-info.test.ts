import { expect, it } from "vitest";
import { plainInfo } from "../../../src/daemon/lsp/session/server-info.ts";

it("tells a server's version in a line, whatever it gives for one", () => {
  expect(plainInfo(undefined)).toBeUndefined();
  expect(plainInfo({ name: "gopls", version: '{"GoVersion":"go1.26","Version":"v0.23.0"}' })).toEqual({
    name: "gopls",
    version: "v0.23.0",
  });
  expect(plainInfo({ name: "odd", version: '{"no":1}' })).toEqual({ name: "odd", version: '{"no":1}' });
  expect(plainInfo({ name: "odd", version: "{broken" })).toEqual({ name: "odd", version: "{broken" });
  expect(plainInfo({ name: "two\nlines", version: "1.2\nbuilt today" })).toEqual({ name: "two", version: "1.2" });
  expect(plainInfo({ name: "long", version: "9".repeat(500) })?.version?.length).toBeLessThanOrEqual(81);
  expect(plainInfo({ name: "none" })).toEqual({ name: "none" });
});
