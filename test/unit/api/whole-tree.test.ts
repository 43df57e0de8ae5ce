import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hashOf } from "../../kernel/workspace/model.ts";
import { imported } from "../../kernel/workspace/whole.ts";
import { type ApiSite, fastDir, openApi } from "./site.ts";

const head = { commit: "1".repeat(40), branch: "main" };

/** `until`: the import waits for it, for it asks first what HEAD is. */
async function opened(until: Promise<void> = Promise.resolve()): Promise<ApiSite> {
  const directory = fastDir();
  mkdirSync(join(directory, "ws"));
  writeFileSync(join(directory, "ws/a"), "one\n");
  return openApi({
    directory,
    engine: {
      import: true,
      git: {
        objectFormat: "sha1",
        prefix: "",
        head: async () => {
          await until;
          return head;
        },
        headNow: async () => head,
        tree: async () => [],
        size: async () => 0,
        blob: async () => Buffer.alloc(0),
        isClean: async () => false,
        outerRules: async () => ({ prefix: "", files: [], ignoreCase: false }),
        close: async () => {},
      },
    },
  });
}

it("tells how far the import is, what watches, and where HEAD is, each as a section of Context", async () => {
  const site = await opened();
  await imported(site);
  const { body } = await site.call("Context", {});
  expect(body.import).toEqual({ done: true, files: "1", bytes: "4", directories_left: "0", unreadable: "0", note: "" });
  expect(body.watcher).toMatchObject({ kind: "off", healthy: false, directories: "0" });
  expect(body.git).toEqual({ base_commit: head.commit, head_commit: head.commit, branch: "main", head_moved: false });
  expect(body.base).toMatch(/^ck_/);
  const some = (await site.call("Context", { sections: ["git"] })).body;
  expect([some.git?.branch, some.import, some.watcher, some.base]).toEqual(
    ["main", null, null, ""].map((one) => one ?? undefined),
  );
  const listed = (await site.admin("ListWorkspaces", {})).body.workspaces;
  expect(listed[0].import).toMatchObject({ done: true, files: "1" });
});

it("answers NOT_READY with how far it is while there is no base, and the base's state afterwards", async () => {
  let goOn = (): void => {};
  const site = await opened(new Promise((resolve) => (goOn = resolve)));
  const early = await site.call("ReadPath", { path: "", snapshot: "base" });
  expect([early.error?.reason, early.error?.facts]).toEqual([
    "NOT_READY",
    expect.objectContaining({ state: "importing", files: expect.any(String), directories_left: expect.any(String) }),
  ]);
  goOn();
  await imported(site);
  // HEAD has no file, so the base has none: what is there was not committed.
  expect((await site.call("ReadPath", { path: "", snapshot: "base" })).body.entries).toEqual([]);
  expect((await site.call("ListCheckpoints", {})).body.checkpoints.map((one: { generation: string }) => one.generation)).toEqual([
    "1",
  ]);
});

it("looks at the whole tree before a save that asks for it, and judges its generation after that", async () => {
  const site = await opened();
  await imported(site);
  writeFileSync(join(site.root, "b"), "outside\n");
  const edits = [{ path: "a", expect: hashOf(Buffer.from("one\n")), text: "two\n" }];
  const stale = await site.call("Save", { request_id: "s1", edits, sync: true, generation: "1" });
  expect([stale.error?.reason, stale.error?.facts]).toEqual(["STALE_GENERATION", { generation: "2" }]);
  const saved = await site.call("Save", { request_id: "s2", edits, sync: true, generation: "2" });
  expect([saved.status, saved.body.state.generation]).toEqual([200, "3"]);
  const { checkpoints } = (await site.call("ListCheckpoints", {})).body;
  expect(
    checkpoints.map((one: { cause: string; paths: { path: string }[] }) => [one.cause, one.paths.map(({ path }) => path)]),
  ).toEqual([
    ["CAUSE_SAVE", ["a"]],
    ["CAUSE_EXTERNAL", ["b"]],
    ["CAUSE_IMPORT", ["a"]],
  ]);
});
