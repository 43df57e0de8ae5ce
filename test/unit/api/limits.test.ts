import { expect, it } from "vitest";
import { LIMITS } from "../../../src/daemon/api/index.ts";
import { openApi } from "./site.ts";

/** Reason and field of a refusal, "ok" for an answer or for a refusal that comes later than the limit's. */
type Try = (size: number) => Promise<string>;

it("holds every other bound of a request to its limit: one less, exactly, one more", async () => {
  const site = await openApi();
  let ids = 0;
  const id = (): string => `l${++ids}`;
  const verdict = async (
    answer: Promise<{ error?: { reason: string; facts: { field?: string; limit?: number } } }>,
  ): Promise<string> => {
    const { error } = await answer;
    return error?.facts.limit === undefined ? "ok" : `${error.reason} ${error.facts.field} ${error.facts.limit}`;
  };
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `p${index}`);
  const token = (more: object) =>
    verdict(site.admin("CreateToken", { request_id: id(), principal: "x", scopes: ["read"], ...more }));
  const tries: [keyof typeof LIMITS, string, Try][] = [
    ["page_max_bytes", "INVALID_REQUEST limit", (limit) => verdict(site.call("Details", { detail_id: "dt_one", limit }))],
    ["list_max_entries", "INVALID_REQUEST limit", (limit) => verdict(site.call("ListCheckpoints", { limit }))],
    ["list_max_entries", "INVALID_REQUEST limit", (limit) => verdict(site.call("ListLeases", { limit }))],
    ["list_max_entries", "INVALID_REQUEST limit", (limit) => verdict(site.call("ReadPath", { limit }))],
    [
      "note_bytes",
      "TOO_LARGE note",
      (size) => verdict(site.call("BreakLease", { request_id: id(), lease_id: "ls_1", note: "n".repeat(size) })),
    ],
    [
      "name_bytes",
      "TOO_LARGE name",
      (size) => verdict(site.admin("OpenWorkspace", { request_id: id(), root: "/r", name: "n".repeat(size) })),
    ],
    [
      "path_bytes",
      "TOO_LARGE root",
      (size) => verdict(site.admin("OpenWorkspace", { request_id: id(), root: `/${"r".repeat(size - 1)}` })),
    ],
    [
      "path_bytes",
      "TOO_LARGE directory",
      (size) => verdict(site.admin("Backup", { request_id: id(), directory: `/${"r".repeat(size - 1)}` })),
    ],
    ["token_lists", "TOO_LARGE paths", (count) => token({ paths: names(count) })],
    [
      "request_id_characters",
      "INVALID_REQUEST target_request_id",
      (size) => verdict(site.call("RequestOutcome", { target_request_id: "i".repeat(size) })),
    ],
  ];
  await site.store.write("detail", {
    id: "dt_one",
    workspace: 0,
    principal: "owner",
    kind: "k",
    body: Buffer.from("x"),
    timeMs: Date.now(),
  });
  for (const [name, refused, attempt] of tries) {
    const { value } = LIMITS[name];
    expect([await attempt(value - 1), await attempt(value), await attempt(value + 1)], name).toEqual([
      "ok",
      "ok",
      `${refused} ${value}`,
    ]);
  }
});

it("keeps an answer whole up to its bound, and a summary of one byte more", async () => {
  const site = await openApi();
  const { workspace, call } = site;
  // Bytes of an answer: fixed parts and, for each path, its name and about 80 more. The bound is between two neighbours.
  const saveOf = async (count: number): Promise<boolean> => {
    const edits = Array.from({ length: count }, (_, index) => ({ path: `c${count}/${index}`, expect: "absent", text: "" }));
    await call("Save", { request_id: `c${count}`, edits });
    return (await call("Save", { request_id: `c${count}`, edits })).body.detail_id === "";
  };
  let [whole, cut] = [700, 900];
  while (cut - whole > 1) {
    const middle = (whole + cut) >> 1;
    if (await saveOf(middle)) whole = middle;
    else cut = middle;
  }
  const row = (count: number) => site.store.read.request(workspace.rowid, "owner", `c${count}`);
  expect(row(whole)?.answer.byteLength).toBeLessThanOrEqual(LIMITS.answer_kept_bytes.value);
  expect(row(cut)?.answer.byteLength).toBeLessThan(1_000);
});
