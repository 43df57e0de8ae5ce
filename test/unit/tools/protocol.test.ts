import { describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../../src/daemon/tools/table.ts";
import { openTools } from "./site.ts";

describe("CallTool's envelope", () => {
  it("names a tool that is none, with a code", async () => {
    const site = await openTools();
    const answer = await site.call("no_such_tool", {});
    expect(answer).toMatchObject({ ok: false, error_code: "invalid_args", request_id: "call-1" });
    expect(answer.error).not.toBe("");
  });

  it("ListTools has all 22 in catalog order", async () => {
    const site = await openTools();
    const { body } = await site.api.call("ListTools", {});
    expect(body.tools.map((tool: { name: string }) => tool.name)).toEqual([...TOOL_NAMES]);
    expect(body.tools).toHaveLength(22);
  });
});
