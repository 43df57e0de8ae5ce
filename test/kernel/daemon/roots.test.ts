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
    again.child.kill("SIGTERM");
    await again.ended;
    // Asked for by name it has to be served.
    const named = await refusal({ host, roots: [root] }, { env: runtime() });
    expect(named.said).toContain(`ROOT_OWNED: another host serves this directory: ${other}`);
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
    expect(JSON.stringify(read.body)).toContain("gin workspace open DIR");
    const opened = await post({ socket }, "AdminService/OpenWorkspace", { root, request_id: "o-1" });
    expect(opened.body).toMatchObject({ created: false, info: { id: workspace, status: "active" } });
    expect(
      (await post({ socket }, "GinService/Save", { request_id: "s-1", edits: [{ path: "b", expect: "absent", text: "1" }] }))
        .status,
    ).toBe(200);
  });
});

describe("workspaces", () => {
  it("are named after their directories, join repositories, and are removed with their history", async () => {
    const { root, host } = tempHost();
    const second = join(tempDir("other"), "root");
    const third = join(tempDir("third"), "root");
    for (const each of [second, third]) mkdirSync(each);
    const started = run({ host, roots: [root, second] }, { env: runtime() });
    const { socket, workspace, repository } = await started.ready;
    const open = (message: object): Promise<Answer> => post({ socket }, "AdminService/OpenWorkspace", message);
    const list = async (): Promise<unknown> => (await post({ socket }, "AdminService/ListWorkspaces", {})).body.workspaces;
    expect(await list()).toMatchObject([{ id: workspace, name: "root" }, { name: "root-2" }]);
    expect((await open({ request_id: "o-1", root: third, name: "root" })).reason).toBe("INVALID_REQUEST");
    expect((await open({ request_id: "o-2", root: third, repository: "none" })).reason).toBe("WORKSPACE_NOT_FOUND");
    const joined = await open({ request_id: "o-3", root: third, repository });
    expect(joined.body).toMatchObject({ created: true, info: { name: "root-3", repository, repository_name: "root" } });
    expect((await open({ request_id: "o-3", root: third, repository })).body).toMatchObject({ created: true, replayed: true });

    expect((await post({ socket }, "AdminService/RemoveWorkspace", { workspace, request_id: "r-1" })).status).toBe(200);
    expect(await list()).toMatchObject([{ name: "root-2" }, { name: "root-3" }]);
    const anew = await open({ request_id: "o-4", root });
    expect(anew.body).toMatchObject({ created: true, info: { name: "root" } });
    expect((anew.body.info as { id: string }).id).not.toBe(workspace);
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
