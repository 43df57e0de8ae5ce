import { expect, it } from "vitest";
import { caller, openApi } from "./site.ts";

it("a line about a request names it, who asked and with what, and nothing that is in it", async () => {
  const site = await openApi({ callers: { a: caller("agent-a", { client: "tool/2" }) } });
  const edits = [{ path: "a", expect: "absent", text: "secret text" }];
  await site.call("Save", { request_id: "r-1", edits }, { as: "a" });
  await site.call("Save", { request_id: "r-2", edits }, { as: "a" });
  const who = { principal: "agent-a", client: "tool/2", transport: "socket", ms: expect.any(Number) };
  expect(site.debugged).toEqual([
    { operation: "Save", request: "r-1", ...who },
    { operation: "Save", request: "r-2", ...who, reason: "STALE_CONTENT" },
  ]);
  expect(JSON.stringify(site.debugged)).not.toContain("secret");
});
