import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { READ_ONLY_TOOLS, toolEnvelope } from "../../../src/clients/sdk/index.ts";
import { nodeFs, REASONS, type Reason, systemClock } from "../../../src/daemon/base/index.ts";
import { codeOf, TOOL_CODES, TOOLS } from "../../../src/daemon/tools/index.ts";
import { TOOL_NAMES } from "../../../src/daemon/tools/table.ts";
import { repo } from "../../helpers/repo.ts";
import { openTools } from "./site.ts";

describe("CallTool's envelope", () => {
  it("names a tool that is none, with a code", async () => {
    const site = await openTools();
    const answer = await site.call("no_such_tool", {});
    expect(answer).toMatchObject({ ok: false, error_code: "invalid_args", request_id: "call-1" });
    expect(answer.error).not.toBe("");
  });

  it("refuses a tool that cannot run here with a code and the reason", async () => {
    const site = await openTools();
    const answer = await site.call("run_shell", {});
    expect(answer).toMatchObject({
      ok: false,
      error_code: "unsupported",
      facts: { reason: "UNSUPPORTED", requested: "run_shell" },
    });
    expect(answer.error).toContain("not part of this version");
  });

  it("what the system does not let us read is permission_denied, a walk that takes too long is timeout", async () => {
    let late = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + late };
    const openSync: typeof nodeFs.openSync = (path, ...how) => {
      if (String(path).endsWith("/locked"))
        throw Object.assign(new Error("EACCES"), { code: "EACCES", errno: -13, syscall: "open" });
      if (String(path).endsWith("/slow")) late += 61_000;
      return nodeFs.openSync(path, ...how);
    };
    const site = await openTools({ locked: "x\n", "slow/d/a": "x\n" }, { clock, engine: { fs: { ...nodeFs, openSync } } });
    const denied = await site.call("read_file", { path: "locked" });
    expect(denied).toMatchObject({ ok: false, error_code: "permission_denied", facts: { reason: "IO_FAILED", errno: "EACCES" } });
    const walked = await site.call("list_dir", {});
    expect(walked).toMatchObject({ ok: false, error_code: "timeout", facts: { reason: "DEADLINE_EXCEEDED" } });
  });

  it("ListTools has all 22 in catalog order, each with a risk and whether it can run", async () => {
    const site = await openTools();
    const { body } = await site.api.call("ListTools", { include_schema: true });
    expect(body.tools.map((tool: { name: string }) => tool.name)).toEqual([...TOOL_NAMES]);
    expect(body.tools).toHaveLength(22);
    for (const tool of body.tools) {
      expect(["read_only", "mutating", "shell", "network"]).toContain(tool.risk);
      expect(tool.available).toBe(tool.why_not === "");
      expect(tool.schema).toMatchObject({ type: "object", additionalProperties: false });
    }
  });

  it("every entry says what it does, what it is good for and which words speak for it", () => {
    for (const tool of TOOLS) {
      expect([tool.name, tool.description.length > 20, tool.features.length > 0, (tool.intents ?? []).length > 0]).toEqual([
        tool.name,
        true,
        true,
        true,
      ]);
    }
  });

  it("every reason has a code, in lower case", () => {
    for (const reason of Object.keys(REASONS) as Reason[]) expect(codeOf({ reason })).toMatch(/^[a-z][a-z_]+$/);
    expect(codeOf({ reason: "IO_FAILED", facts: { errno: "EACCES" } })).toBe("permission_denied");
    expect(codeOf({ reason: "IO_FAILED", facts: { errno: "EIO" } })).toBe("io_failed");
    expect(TOOL_CODES).toContain("permission_denied");
    expect(new Set(TOOL_CODES).size).toBe(TOOL_CODES.length);
  });

  it("the SDK knows which tools change nothing: those the table calls read_only", () => {
    expect(READ_ONLY_TOOLS).toEqual(TOOLS.filter((tool) => tool.risk === "read_only").map((tool) => tool.name));
  });
});

describe("the envelope as it is printed", () => {
  it("has the reference's fields in their order and leaves the empty ones out", () => {
    const printed = toolEnvelope({
      state: { generation: "3" },
      ok: false,
      result: "",
      content: [],
      meta: null,
      error: "gone",
      error_code: "file_not_found",
      suggestion: "look",
      classification: "",
      risk: "",
      request_id: "r1",
      next_call: { tool: "list_dir", arguments: { path: "." } },
      replayed: false,
      checkpoint: "",
      facts: { path: "a" },
    });
    expect(JSON.stringify(printed)).toBe(
      '{"ok":false,"meta":{"facts":{"path":"a"}},"error":"gone","error_code":"file_not_found","suggestion":"look","request_id":"r1","next_call":{"tool":"list_dir","arguments":{"path":"."}}}',
    );
  });

  it("spells images as MCP does, and keeps what gin adds in meta", () => {
    const printed = toolEnvelope({
      ok: true,
      result: "done",
      content: [{ type: "image", text: "", data: "AAAA", mime_type: "image/png" }],
      meta: { sha256: "0" },
      checkpoint: "ck_1",
      replayed: true,
    });
    expect(printed).toEqual({
      ok: true,
      result: "done",
      content: [{ type: "image", data: "AAAA", mimeType: "image/png" }],
      meta: { sha256: "0", checkpoint: "ck_1", replayed: true },
    });
  });
});

describe("docs/tools.md", () => {
  const text = readFileSync(join(repo, "docs/tools.md"), "utf8");

  it("has a section a tool, in catalog order, and the codes last", () => {
    expect([...text.matchAll(/^## (.*)$/gm)].map((match) => match[1])).toEqual([...TOOL_NAMES, "Codes"]);
  });

  it("says of exactly those that cannot run that they cannot, and why", () => {
    for (const tool of TOOLS) {
      const [, section = ""] = text.split(`## ${tool.name}\n`);
      const said = /^\nNot available: (.*?)\. /.exec(`${section.split("\n## ")[0]} `)?.[1];
      expect([tool.name, said]).toEqual([tool.name, "missing" in tool ? tool.missing : undefined]);
    }
  });

  it("lists every code that is not its reason's own name", () => {
    const named = new Map<string, string[]>();
    for (const reason of Object.keys(REASONS) as Reason[]) {
      const code = codeOf({ reason });
      if (code !== reason.toLowerCase()) named.set(code, [...(named.get(code) ?? []), `\`${reason}\``]);
    }
    named.set("permission_denied", ["`IO_FAILED` with EACCES or EPERM"]);
    const rows = text
      .split("## Codes")[1]
      ?.split("\n")
      .filter((line) => line.startsWith("| `"));
    expect(rows).toEqual([...named].map(([code, reasons]) => `| \`${code}\` | ${reasons.join(", ")} |`));
  });
});
