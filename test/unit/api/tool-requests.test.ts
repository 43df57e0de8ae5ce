import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { type Answer, type ApiSite, caller, openApi, type SiteOptions } from "./site.ts";

/** A site whose directory holds these files. */
async function open(files: Record<string, string> = {}, options: SiteOptions = {}): Promise<ApiSite> {
  const site = await openApi(options);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(site.root, path)), { recursive: true });
    writeFileSync(join(site.root, path), text);
  }
  return site;
}

/** One CallTool whose JSON is sent as it is written here, keys in their order. */
const call = (site: ApiSite, tool: string, args: object, id = "r"): Promise<Answer> =>
  site.call("CallTool", { tool, request_id: id, arguments: args });

/** All pages of a detail. */
async function detail(site: ApiSite, id: string): Promise<{ kind: string; text: string }> {
  let [kind, text, cursor] = ["", "", ""];
  do {
    const { body } = await site.call("Details", { detail_id: id, cursor });
    kind = body.kind;
    text += body.text;
    cursor = body.next_cursor;
  } while (cursor !== "");
  return { kind, text };
}

it("a tool call again with its argument keys in another order is replayed", async () => {
  const site = await open({ a: "one\ntwo\n" });
  const one = { path: "a", old_text: "one", new_text: "1" };
  const two = { path: "a", old_text: "two", new_text: "2" };
  const first = await call(site, "multi_edit", { on_conflict: "refuse", edits: [one, two] });
  expect(first.body).toMatchObject({ ok: true, replayed: false });
  const turned = (edit: typeof one) => ({ new_text: edit.new_text, old_text: edit.old_text, path: edit.path });
  const again = await call(site, "multi_edit", { edits: [turned(one), turned(two)], on_conflict: "refuse" });
  expect(again.body).toMatchObject({ ok: true, replayed: true, checkpoint: first.body.checkpoint });
  // What is a list keeps its order: edits the other way round are another call.
  const other = await call(site, "multi_edit", { on_conflict: "refuse", edits: [two, one] });
  expect(other.body).toMatchObject({ ok: false, facts: { reason: "REQUEST_ID_REUSED" } });
  expect(readFileSync(join(site.root, "a"), "utf8")).toBe("1\n2\n");
});

it("a tool's answer over 64 KiB is replayed with its result, and Details has what it carried beside", async () => {
  const paths = Array.from({ length: 150 }, (_, index) => `${"d".repeat(200)}/${index}`);
  const site = await open(Object.fromEntries(paths.map((path) => [path, `old\n${"x".repeat(300)}\n`])));
  const edits = paths.map((path) => ({ path, old_text: "old", new_text: "new" }));
  const { body: first } = await call(site, "multi_edit", { edits });
  expect([first.ok, first.meta.files.length, JSON.stringify(first.meta).length > 65_536]).toEqual([true, 150, true]);
  const { body: again } = await call(site, "multi_edit", { edits });
  expect(again).toMatchObject({ ok: true, replayed: true, result: first.result, checkpoint: first.checkpoint });
  expect(Object.keys(again.meta)).toEqual(["detail_id"]);
  const { kind, text } = await detail(site, again.meta.detail_id);
  expect([kind, JSON.parse(text)]).toEqual(["tool.result", { result: first.result, content: [], meta: first.meta }]);
});

it("a tool's result that is itself over 64 KiB is in Details alone", async () => {
  const below = ["p", "q", "r", "s"].map((name) => name.repeat(200)).join("/");
  const paths = Array.from({ length: 100 }, (_, index) => `${below}/${index}`);
  const site = await open(Object.fromEntries(paths.map((path) => [path, "old\n"])));
  const edits = paths.map((path) => ({ path, old_text: "old", new_text: "new" }));
  const { body: first } = await call(site, "multi_edit", { edits });
  expect([first.ok, first.result.length > 65_536]).toEqual([true, true]);
  const { body: again } = await call(site, "multi_edit", { edits });
  expect([again.replayed, again.result, again.checkpoint]).toEqual([true, "", first.checkpoint]);
  const { text } = await detail(site, again.meta.detail_id);
  expect(JSON.parse(text)).toEqual({ result: first.result, content: [], meta: first.meta });
});

it("a tool's refusal says its reason always, how long to wait, and where the rest is kept", async () => {
  const filler = "x\n".repeat(20_000);
  const site = await open({ a: `one\n${filler}` }, { callers: { other: caller("other") } });
  const bare = { tool: "write_file", arguments: { path: "c", content: "x", if_absent: true } };
  expect((await site.call("CallTool", bare)).body.facts).toEqual({ reason: "REQUEST_ID_REQUIRED" });
  const { sha256 } = (await site.call("ReadPath", { path: "a" })).body;
  const theirs = [{ path: "a", expect: sha256, text: `theirs\n${filler}` }];
  expect((await site.call("Save", { request_id: "theirs", edits: theirs })).status).toBe(200);
  const mine = { path: "a", old_text: "one", new_text: "mine", if_checksum: sha256, on_conflict: "merge" };
  const stale = (await call(site, "edit_file", mine, "mine")).body.facts;
  expect(stale).toMatchObject({ reason: "MERGE_CONFLICT", detail_id: expect.stringMatching(/^dt_/) });
  const whole = JSON.parse((await detail(site, stale.detail_id)).text);
  expect(whole).toMatchObject({ path: "a", hunks: [{ current: "theirs\n" }] });
  await site.call("AcquireLease", { request_id: "l", paths: ["c"], ttl_ms: "60000" });
  const { facts } = (await site.call("CallTool", { ...bare, request_id: "held" }, { as: "other" })).body;
  expect(facts).toMatchObject({ reason: "LEASE_HELD", holder: "owner" });
  expect([Number(facts.retry_after_ms) > 50_000, Number(facts.retry_after_ms) <= 60_000]).toEqual([true, true]);
});
