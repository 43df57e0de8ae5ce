import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { type Answer, post, refusal, run, runtime } from "./daemon-process.ts";

function secondHost(): string {
  const host = join(tempDir("host2"), "host");
  mkdirSync(host, { mode: 0o700 });
  return host;
}

async function statuses(socket: string): Promise<string[]> {
  const { body } = await post({ socket }, "AdminService/ListWorkspaces", {});
  return (body.workspaces as { status: string }[]).map(({ status }) => status);
}

describe("a root", () => {
  it("belongs to one host at a time, whatever the variables; a kill frees it", async () => {
    const { root, host } = tempHost();
    const other = secondHost();
    const first = run({ host, roots: [root] }, { env: runtime() });
    await first.ready;
    const refused = await refusal({ host: other, roots: [root] }, { env: { ...runtime(), TMPDIR: tempDir("tmp") } });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain(`ROOT_OWNED: another host serves this directory: ${host}`);
    first.child.kill("SIGKILL");
    await first.ended;
    await run({ host: other, roots: [root] }, { env: runtime() }).ready;
    // The first host still starts, and says of that workspace that it cannot have it.
    const again = run({ host }, { env: runtime() });
    expect(await statuses((await again.ready).socket)).toEqual(["stopped"]);
  });

  it("is freed by closing the workspace, and found again with its history", async () => {
    const { root, host } = tempHost();
    const first = run({ host, roots: [root] }, { env: runtime() });
    const { socket, workspace } = await first.ready;
    expect(
      (await post({ socket }, "GinService/Save", { request_id: "s-1", edits: [{ path: "a", expect: "absent", text: "1" }] }))
        .status,
    ).toBe(200);
    expect((await post({ socket }, "AdminService/CloseWorkspace", { workspace, request_id: "c-1" })).status).toBe(200);
    const other = run({ host: secondHost(), roots: [root] }, { env: runtime() });
    await other.ready;
    const taken = await post({ socket }, "AdminService/OpenWorkspace", { root, request_id: "o-1" });
    expect(taken.reason).toBe("ROOT_OWNED");
    other.child.kill("SIGTERM");
    await other.ended;
    const opened = await post({ socket }, "AdminService/OpenWorkspace", { root, request_id: "o-2" });
    expect(opened.body).toMatchObject({ created: false, info: { id: workspace, status: "active" } });
    const log = await post({ socket }, "GinService/ListCheckpoints", { workspace });
    expect(JSON.stringify(log.body)).toContain("s-1");
  });

  it("inside an open one selects that one at start, and is refused as a workspace of its own; so is one around it", async () => {
    const { root, host } = tempHost();
    mkdirSync(join(root, "sub"));
    const link = join(tempDir("link"), "to-sub");
    symlinkSync(join(root, "sub"), link);
    const env = runtime();
    const first = run({ host, roots: [root, join(root, "sub"), link] }, { env });
    const { socket, workspace } = await first.ready;
    const overlapping = async (directory: string): Promise<Answer> =>
      await post({ socket }, "AdminService/OpenWorkspace", { root: directory, request_id: `o-${directory.length}` });
    for (const directory of [join(root, "sub"), link]) {
      const answer = await overlapping(directory);
      expect(answer.reason).toBe("ROOT_OVERLAPS");
      expect(JSON.stringify(answer.body)).toContain(workspace);
    }
    expect((await overlapping(join(root, ".."))).reason).toBe("ROOT_OVERLAPS");
    expect(await statuses(socket)).toEqual(["active"]);
  });

  it("may not hold the host", async () => {
    const root = tempDir("root");
    const host = join(root, "state", "gin");
    const refused = await refusal({ host, roots: [root] }, { env: runtime() });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain("ROOT_OVERLAPS: the root holds gin's own state");
  });

  it("deleted while served is missing at once, stays missing over a restart, and is taken again when asked for", async () => {
    const { root, host } = tempHost();
    writeFileSync(join(root, "a.txt"), "kept\n");
    const env = runtime();
    const first = run({ host, roots: [root] }, { env });
    const { socket, workspace } = await first.ready;
    expect((await post({ socket }, "GinService/ReadPath", { path: "a.txt" })).status).toBe(200);
    renameSync(root, `${root}-away`);
    expect((await post({ socket }, "GinService/ReadPath", { path: "a.txt" })).reason).toBe("WORKSPACE_MISSING_ROOT");
    expect(await statuses(socket)).toEqual(["missing"]);
    first.child.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 0, signal: null });
    // Another directory under the old name is not taken for it unasked.
    mkdirSync(root);
    const second = run({ host }, { env });
    await second.ready;
    expect(await statuses(socket)).toEqual(["missing"]);
    const read = await post({ socket }, "GinService/ReadPath", { path: "a.txt" });
    expect(read.reason).toBe("WORKSPACE_MISSING_ROOT");
    const opened = await post({ socket }, "AdminService/OpenWorkspace", { root, request_id: "o-1" });
    expect(opened.body).toMatchObject({ created: false, info: { id: workspace, status: "active" } });
    expect(
      (await post({ socket }, "GinService/Save", { request_id: "s-1", edits: [{ path: "b", expect: "absent", text: "1" }] }))
        .status,
    ).toBe(200);
  });
});

describe("a data directory", () => {
  it("serves one host at a time", async () => {
    const { root, host } = tempHost();
    const data = join(tempDir("data"), "store");
    const first = run({ host, data, roots: [root] }, { env: runtime() });
    await first.ready;
    const refused = await refusal({ host: secondHost(), data }, { env: runtime() });
    expect(refused.code).toBe(1);
    expect(refused.said).toContain(`BUSY: the host ${host} uses this data directory`);
  });
});
