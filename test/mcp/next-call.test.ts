import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { startBridge } from "./bridge.ts";
import { HELLO, type Site, startSite } from "./setup.ts";

let site: Site;
beforeAll(async () => {
  site = await startSite(["--listen", "none", "--require-lease", "always"]);
});

/** A bridge of a profile, and its tools by their names: structured answer, or the JSON of the text where there is none. */
async function opened(profile: string): Promise<(name: string, args: object) => Promise<JsonObject>> {
  const bridge = startBridge(["--host", site.host, "--root", site.root, "--profile", profile]);
  await bridge.initialize();
  return async (name, args) => {
    const { result, error } = await bridge.ask("tools/call", { name, arguments: args });
    if (error !== undefined) throw new Error(`no answer of ${name}: ${error.message}`);
    return (result?.structuredContent ?? JSON.parse(result?.content?.[0]?.text ?? "")) as JsonObject;
  };
}

interface Next {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** The fence of an answer of gin_lease. */
function fenceOf(answer: JsonObject): JsonObject {
  const { lease } = answer.acquire_lease as { lease: JsonObject };
  return { lease_incarnation: lease.lease_incarnation ?? "", lease_epoch: lease.lease_epoch ?? "" };
}

describe("where a lease must be held, in profile agent", () => {
  it("next_call of a refused edit acquires it as it stands, and the edit with its fence is made", async () => {
    writeFileSync(join(site.root, "a.txt"), "hello\n");
    const call = await opened("agent");
    const edit = { op: "edit_file", path: "a.txt", old_text: "hello", new_text: "bye" };
    const refused = await call("gin_edit", edit);
    expect(refused).toMatchObject({ ok: false, error_code: expect.any(String), meta: { facts: { reason: "LEASE_REQUIRED" } } });
    const next = refused.next_call as unknown as Next;
    expect(next).toEqual({
      tool: "gin_lease",
      arguments: { op: "acquire", request_id: expect.stringMatching(/^rq_/), paths: ["a.txt"], ttl_ms: "600000" },
    });
    const acquired = await call(next.tool, next.arguments);
    expect(JSON.stringify(acquired)).toContain(String(next.arguments.request_id));
    expect(await call("gin_edit", { ...edit, ...fenceOf(acquired) })).toMatchObject({ ok: true });
    expect(readFileSync(join(site.root, "a.txt"), "utf8")).toBe("bye\n");
  });

  it("next_call of an edit that a merge would mend keeps its fence, and merges as it stands", async () => {
    writeFileSync(join(site.root, "b.txt"), "one\ntwo\nthree\n");
    const call = await opened("agent");
    const read = await call("gin_read", { path: "b.txt" });
    const fence = fenceOf(await call("gin_lease", { op: "acquire", paths: ["b.txt"] }));
    writeFileSync(join(site.root, "b.txt"), "one\ntwo\nTHREE\n");
    const edit = { path: "b.txt", old_text: "one", new_text: "ONE", if_checksum: read.sha256 };
    const stale = await call("gin_edit", { op: "edit_file", ...edit, ...fence });
    expect(stale).toMatchObject({ ok: false, error_code: "stale_file" });
    const next = stale.next_call as unknown as Next;
    expect(next).toEqual({ tool: "gin_edit", arguments: { op: "edit_file", ...edit, on_conflict: "merge", ...fence } });
    expect(await call(next.tool, next.arguments)).toMatchObject({ ok: true });
    expect(readFileSync(join(site.root, "b.txt"), "utf8")).toBe("ONE\ntwo\nTHREE\n");
  });
});

describe("where a lease must be held, in profile tools", () => {
  it("no next_call is told that the profile has no tool for", async () => {
    writeFileSync(join(site.root, "a.txt"), "hello\n");
    const call = await opened("tools");
    const refused = await call("edit_file", { path: "a.txt", old_text: "hello", new_text: "bye", if_checksum: HELLO });
    expect(refused).toMatchObject({ ok: false, meta: { facts: { reason: "LEASE_REQUIRED" } } });
    expect(refused).not.toHaveProperty("next_call");
  });

  it("the fence of a lease got elsewhere is taken beside the arguments, and kept by next_call; a wrong one is refused", async () => {
    writeFileSync(join(site.root, "c.txt"), "one\ntwo\nthree\n");
    const fence = fenceOf(await (await opened("agent"))("gin_lease", { op: "acquire", paths: ["c.txt"] }));
    const call = await opened("tools");
    const { meta } = await call("read_file", { path: "c.txt", include_checksum: true });
    writeFileSync(join(site.root, "c.txt"), "one\ntwo\nTHREE\n");
    const edit = { path: "c.txt", old_text: "one", new_text: "ONE", if_checksum: (meta as JsonObject).sha256 };
    const stale = await call("edit_file", { ...edit, ...fence });
    expect(stale).toMatchObject({ ok: false, error_code: "stale_file" });
    const next = stale.next_call as unknown as Next;
    expect(next).toEqual({ tool: "edit_file", arguments: { ...edit, on_conflict: "merge", ...fence } });
    expect(await call(next.tool, next.arguments)).toMatchObject({ ok: true });
    expect(readFileSync(join(site.root, "c.txt"), "utf8")).toBe("ONE\ntwo\nTHREE\n");
    const late = { path: "c.txt", old_text: "ONE", new_text: "1", lease_incarnation: fence.lease_incarnation };
    expect(await call("edit_file", { ...late, lease_epoch: Number(fence.lease_epoch) + 1_000 })).toMatchObject({ ok: false });
    expect(await call("edit_file", { ...late, lease_epoch: Number(fence.lease_epoch) })).toMatchObject({ ok: true });
    expect(await call("edit_file", { ...late, lease_epoch: "seven" })).toMatchObject({ bridge_error: { kind: "arguments" } });
    expect(await call("read_file", { path: "c.txt", ...fence })).toMatchObject({ ok: false, error_code: "invalid_args" });
  });
});
