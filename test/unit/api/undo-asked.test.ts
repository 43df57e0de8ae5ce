import { expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { createDiffer, planUndo, type UndoPlan, type UndoView } from "../../../src/daemon/history/index.ts";
import type { SaveInput } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { fastDir, openApi } from "./site.ts";
import { at, callers, open, redo, save, shaAt, there, undo, write } from "./undo-site.ts";

it("selections that say too little, too much or nothing known are refused", async () => {
  const site = await open();
  const made = await write(site, "ada", "a.txt", "1\n");
  for (const select of [
    {},
    { principal: "ada" },
    { since: "start" },
    { path: "a.txt" },
    { checkpoint: made, since: "start" },
    { checkpoint: made, request_id: "x" },
    { principal: "ada", since: "start", path: "a.txt" },
    { principal: "not a name", since: "start" },
  ]) {
    expect((await undo(site, select)).error).toMatchObject({ reason: "INVALID_REQUEST" });
  }
  expect((await undo(site, { checkpoint: "ck_00000000000000000000" })).error.reason).toBe("ID_NOT_FOUND");
  expect((await undo(site, { request_id: "never" })).error.reason).toBe("ID_NOT_FOUND");
  expect((await redo(site, made)).error).toMatchObject({ reason: "INVALID_REQUEST", facts: { field: "undo" } });
  expect((await undo(site, { path: ".env", checkpoint: made })).error.reason).toBe("PATH_SENSITIVE");
  expect((await undo(site, { checkpoint: made }, { epoch: "77" })).error.reason).toBe("STALE_EPOCH");
  expect((await undo(site, { checkpoint: made }, { incarnation: "in_x" })).error.reason).toBe("STALE_INCARNATION");
  expect((await site.call("Undo", { select: { checkpoint: made } })).error.reason).toBe("REQUEST_ID_REQUIRED");
});

it("a token bound to paths takes back only what lies within them", async () => {
  const site = await open();
  const inside = await write(site, "fenced", "src/a.txt", "1\n");
  expect((await undo(site, { checkpoint: inside }, {}, "fenced")).error).toBeUndefined();
  const outside = await save(site, "owner", [{ path: "b.txt", text: "b\n" }]);
  expect((await undo(site, { checkpoint: outside }, {}, "fenced")).error.reason).toBe("SCOPE_FORBIDDEN");
});

it("an undo is a recorded mutation: replayed, its id not used twice, and known to RequestOutcome", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n");
  const mine = await write(site, "ada", "a.txt", "2\n");
  const request = { request_id: "u-once", select: { checkpoint: mine } };
  const first = await site.call("Undo", request);
  const again = await site.call("Undo", request);
  expect(again.body).toMatchObject({ replayed: true, checkpoint: first.body.checkpoint, undone: [mine] });
  expect((await site.call("Undo", { ...request, select: { checkpoint: first.body.checkpoint } })).error.reason).toBe(
    "REQUEST_ID_REUSED",
  );
  const outcome = await site.call("RequestOutcome", { target_request_id: "u-once" });
  expect(outcome.body).toMatchObject({ outcome: "OUTCOME_COMMITTED", operation: "Undo" });
});

it("who must hold a lease needs one here as well, and is told so before any conflict", async () => {
  const site = await open(fastDir(), "always");
  const lease = (await site.call("AcquireLease", { request_id: "l-1", paths: [] })).body.lease;
  const fence = { lease_incarnation: lease.lease_incarnation, lease_epoch: lease.lease_epoch };
  const put = async (text: string): Promise<string> => {
    const edits = [{ path: "a.txt", expect: await shaAt(site, "a.txt"), text }];
    return (await site.call("Save", { request_id: `s-fenced-${text.trim()}`, ...fence, edits })).body.checkpoint;
  };
  await put("1\n");
  const mine = await put("2\n");
  await put("3\n");
  expect((await undo(site, { checkpoint: mine })).error.reason).toBe("LEASE_REQUIRED");
  expect((await undo(site, { checkpoint: mine }, fence)).error.reason).toBe("MERGE_CONFLICT");
  expect((await undo(site, { principal: "owner", since: "start" }, fence)).error).toBeUndefined();
  expect(there(site, "a.txt")).toBe(false);
});

it("more paths, or more bytes, than one save takes are refused, naming the limit", async () => {
  const site = await open();
  const made = await save(
    site,
    "ada",
    ["a", "b", "c"].map((path) => ({ path, text: `${path}\n` })),
  );
  const gone = await save(
    site,
    "ada",
    ["a", "b", "c"].map((path) => ({ path, delete: true })),
  );
  const { read: reader, trees } = site.store;
  const differ = createDiffer();
  atTeardown(() => differ.close());
  const view: UndoView = {
    workspace: site.workspace.rowid,
    reader,
    trees,
    differ,
    clock: systemClock,
    current: async (path) => ({ state: trees.get(site.workspace.tree(), path), bytes: async () => undefined }),
  };
  const plan = (id: string, paths: number, bytes: number): Promise<UndoPlan> => {
    const checkpoint = reader.checkpoint(id);
    if (checkpoint === undefined) throw new Error("no such checkpoint");
    return planUndo(view, [{ checkpoint }], false, { paths, bytes });
  };
  expect((await plan(gone, 3, 6)).edits).toHaveLength(3);
  await expect(plan(gone, 2, 6)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 2, unit: "entries" } });
  await expect(plan(gone, 1, 6)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 1, unit: "entries" } });
  await expect(plan(gone, 3, 5)).rejects.toMatchObject({ reason: "TOO_LARGE", facts: { limit: 5, unit: "bytes" } });
  expect((await plan(made, 3, 0)).paths.map((path) => path.outcome)).toEqual(["no_change", "no_change", "no_change"]);
});

it("a long answer shows the first paths and keeps all of them for Details", async () => {
  const site = await open();
  const edits = Array.from({ length: 1_001 }, (_, index) => ({
    path: `d/${index % 10}/${index}.txt`,
    expect: "absent",
    text: "x",
  }));
  const made = await site.call("Save", { request_id: "wide", edits }, { as: "ada" });
  const undone = await undo(site, { checkpoint: made.body.checkpoint });
  expect(undone.error).toBeUndefined();
  expect(undone.body.paths).toHaveLength(1_000);
  const page = await site.call("Details", { detail_id: undone.body.detail_id, limit: 200 });
  expect(JSON.parse(page.body.text.split("\n")[0])).toMatchObject({ path: "d/0/0.txt", outcome: "reversed", deleted: true });
  const outcome = await site.call("RequestOutcome", { target_request_id: undone.body.request_id });
  expect(outcome.body.response.undo).toMatchObject({ checkpoint: undone.body.checkpoint, detail_id: undone.body.detail_id });
});

it("what is saved between plan and save makes the plan anew; who is overtaken every time is told", async () => {
  let meanwhile: (() => Promise<void>) | undefined;
  const site = await openApi({
    callers,
    requireLease: "never",
    wrap: (workspace) =>
      new Proxy(workspace, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          if (name !== "save") return value.bind(target);
          return async (input: SaveInput) => {
            if (input.cause === "undo") await meanwhile?.();
            return target.save(input);
          };
        },
      }),
  });
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\n3\n4\n");
  let left = 2;
  meanwhile = async () => {
    if (left-- > 0) await write(site, "bob", "a.txt", at(site, "a.txt").replace(/4.*\n/, `4 ${left}\n`));
  };
  const undone = await undo(site, { checkpoint: mine });
  expect(undone.error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("1\n2\n3\n4 0\n");
  left = 100;
  const again = await undo(site, { checkpoint: undone.body.checkpoint });
  expect([again.error.reason, left]).toEqual(["STALE_CONTENT", 95]);
  left = 1;
  meanwhile = async () => {
    if (left-- > 0) await write(site, "bob", "a.txt", at(site, "a.txt").replace("2\n", "bob\n"));
  };
  expect((await undo(site, { checkpoint: undone.body.checkpoint })).error.reason).toBe("MERGE_CONFLICT");
  expect(at(site, "a.txt")).toContain("bob\n");
});

it("other calls are answered while large texts are merged", async () => {
  const site = await open();
  await write(site, "owner", "small.txt", "s\n");
  const line = (index: number): string => `line ${index} of a text that is merged elsewhere\n`;
  const text = (first: string, last: string): string =>
    [first, ...Array.from({ length: 60_000 }, (_, index) => line(index)), last].join("");
  await write(site, "ada", "large.txt", text("first\n", "last\n"));
  const mine = await write(site, "ada", "large.txt", text("FIRST\n", "last\n"));
  await write(site, "bob", "large.txt", text("FIRST\n", "LAST\n"));
  let done = false;
  const undone = undo(site, { checkpoint: mine }).finally(() => (done = true));
  let reads = 0;
  while (!done) {
    expect((await site.call("ReadPath", { path: "small.txt" })).status).toBe(200);
    reads += 1;
  }
  expect((await undone).error).toBeUndefined();
  expect(at(site, "large.txt")).toBe(text("first\n", "LAST\n"));
  expect(reads).toBeGreaterThan(2);
});

it("a file that flips between text and binary comes back either way", async () => {
  const site = await open();
  const put = (as: string, bytes: string): Promise<string> =>
    save(site, as, [{ path: "f", data: Buffer.from(bytes, "latin1").toString("base64") }]);
  const contents = ["text\n", "\0bin", "text again\n", "\0bin\0", ""];
  const ids: string[] = [];
  for (const content of contents) ids.push(await put("ada", content));
  for (let at_ = contents.length - 1; at_ > 0; at_ -= 1) {
    expect((await undo(site, { checkpoint: ids[at_] })).error).toBeUndefined();
    expect(at(site, "f")).toBe(contents[at_ - 1]);
  }
  for (const content of contents.slice(1)) await put("ada", content);
  await write(site, "bob", "other", "x\n");
  expect((await undo(site, { principal: "ada", since: ids[0] })).error).toBeUndefined();
  expect(at(site, "f")).toBe("text\n");
});

const LARGE = "too large to be compared by lines\n".repeat(300_000);

it("a version too large for lines does not hide the small steps by which equal lines are told apart", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "a\nb\n");
  const mine = await write(site, "ada", "a.txt", "a\nx\nb\n");
  await write(site, "bob", "a.txt", LARGE);
  await write(site, "bob", "a.txt", "a\nnew\nx\nb\n");
  // The same line above it: by the two ends alone it would be taken for the one that was undone.
  await write(site, "bob", "a.txt", "a\nx\nnew\nx\nb\n");
  expect((await undo(site, { checkpoint: mine })).error).toBeUndefined();
  expect(at(site, "a.txt")).toBe("a\nx\nnew\nb\n");
});

it("who stands in the way of an undo is found behind a version too large for lines", async () => {
  const site = await open();
  await write(site, "ada", "a.txt", "1\n2\n3\n4\n");
  const mine = await write(site, "ada", "a.txt", "1\nX\n3\n4\n");
  const theirs = await write(site, "bob", "a.txt", "1\nbob's\n3\n4\n");
  await write(site, "ada", "a.txt", LARGE);
  await write(site, "ada", "a.txt", "1\nbob's\n3\nfour\n");
  expect((await undo(site, { checkpoint: mine })).error).toMatchObject({
    reason: "MERGE_CONFLICT",
    facts: { paths: [{ path: "a.txt", conflict: "content", hunks: [{ checkpoint: theirs, changed_by: "bob" }] }] },
  });
  expect(at(site, "a.txt")).toBe("1\nbob's\n3\nfour\n");
});
