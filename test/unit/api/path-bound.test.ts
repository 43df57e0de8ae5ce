import { beforeEach, expect, it } from "vitest";
import { type ApiSite, caller, openApi } from "./site.ts";

// What a token bound to `src` is shown of what others do elsewhere.
let site: ApiSite;
let ids = 0;
beforeEach(async () => {
  site = await openApi({
    callers: {
      src: caller("src", { paths: ["src"] }),
      deep: caller("deep", { paths: ["src/cart", "a00"] }),
      free: caller("free"),
    },
  });
});

const call = async (method: string, body: object, as = "owner") => (await site.call(method, body, { as })).body;

/** A lease the owner holds on these paths; gives its id. */
async function held(paths: string[]): Promise<string> {
  return (await call("AcquireLease", { request_id: `l-${++ids}`, paths })).lease.lease_id;
}

it("a token bound to paths sees the leases on its paths and around them, of each the paths that concern it", async () => {
  const other = await held(["docs", "srcs"]);
  const inside = await held(["src/cart/total.ts", "test"]);
  const list = await held(["src/list"]);
  const listed = async (as: string) => (await call("ListLeases", {}, as)).leases.map((lease: { paths: string[] }) => lease.paths);
  expect(await listed("src")).toEqual([["src/cart/total.ts"], ["src/list"]]);
  expect(await listed("deep")).toEqual([["src/cart/total.ts"]]);
  expect(await listed("owner")).toEqual([["docs", "srcs"], ["src/cart/total.ts", "test"], ["src/list"]]);
  const context = await call("Context", { sections: ["leases"] }, "src");
  expect(context.leases.map((lease: { paths: string[] }) => lease.paths)).toEqual([["src/cart/total.ts"], ["src/list"]]);
  const explained = await call("Explain", { id: inside }, "src");
  expect([explained.facts.paths, explained.summary]).toEqual([["src/cart/total.ts"], expect.not.stringContaining("test")]);
  expect((await call("Explain", { id: list }, "src")).facts.paths).toEqual(["src/list"]);
  expect((await site.call("Explain", { id: other }, { as: "src" })).error.reason).toBe("ID_NOT_FOUND");
});

it("a token bound to paths sees a lease on a directory above them, and one on the whole workspace", async () => {
  const above = await held(["src"]);
  expect((await call("ListLeases", {}, "deep")).leases).toMatchObject([{ lease_id: above, paths: ["src"] }]);
  const [{ lease_id, lease_incarnation, lease_epoch }] = (await call("ListLeases", {})).leases;
  expect((await call("ReleaseLease", { lease_id, lease_incarnation, lease_epoch })).released).toBe(true);
  const whole = await held([]);
  expect((await call("ListLeases", {}, "deep")).leases).toMatchObject([{ lease_id: whole, paths: [] }]);
});

it("a token bound to paths is told of a lease in its way what the list of leases shows it, also by what is kept", async () => {
  const id = await held(["docs/plan", "src/cart", "src/list"]);
  const hidden = await held(["notes"]);
  const [{ lease_incarnation }] = (await call("ListLeases", {})).leases;
  const told = async (method: string, body: object, as: string) => (await site.call(method, body, { as })).error;
  const save = { request_id: "s", edits: [{ path: "src/cart/x", expect: "absent", text: "" }] };
  const refused = await told("Save", save, "src");
  expect([refused.reason, refused.message]).toEqual(["LEASE_HELD", `src/cart and 1 more are under ${id} of owner`]);
  expect(refused.facts).toMatchObject({ lease_id: id, holder: "owner", paths: ["src/cart", "src/list"] });
  expect(refused.facts.remaining_ms).toBe(refused.retry_after_ms);
  const outcome = await call("RequestOutcome", { target_request_id: "s" }, "src");
  expect([outcome.error.reason, JSON.stringify(outcome)]).toEqual(["LEASE_HELD", expect.not.stringContaining("docs")]);
  const write = { tool: "write_file", arguments: { path: "src/cart/x", content: "", if_absent: true }, request_id: "t" };
  const tool = await call("CallTool", write, "deep");
  expect([tool.facts.paths, tool.error]).toEqual([["src/cart"], `src/cart is under ${id} of owner`]);
  expect((await told("AcquireLease", { request_id: "a", paths: ["src/cart"] }, "deep")).facts.paths).toEqual(["src/cart"]);
  const renewed = (lease_id: string, as: string) => told("RenewLease", { lease_id, lease_incarnation, lease_epoch: "99" }, as);
  expect((await renewed(id, "deep")).facts.paths).toEqual(["src/cart"]);
  expect(await renewed(hidden, "src")).toMatchObject({ reason: "ID_NOT_FOUND", facts: { id: hidden } });
  expect((await told("Save", { ...save, request_id: "f" }, "free")).facts.paths).toEqual(["docs/plan", "src/cart", "src/list"]);
});

it("pages of leases count what a token bound to paths may see", async () => {
  for (const name of ["docs/1", "src/1", "docs/2", "src/2", "docs/3", "src/3", "docs/4"]) await held([name]);
  const seen: string[] = [];
  for (let cursor = "", pages = 1; ; pages += 1) {
    const page = await call("ListLeases", { limit: 2, cursor }, "src");
    seen.push(...page.leases.map((lease: { paths: string[] }) => lease.paths[0]));
    cursor = page.next_cursor;
    if (cursor !== "") continue;
    expect(pages).toBe(2);
    break;
  }
  expect(seen).toEqual(["src/1", "src/2", "src/3"]);
});

it("a checkpoint that touched thirty other paths shows a token bound to src its one path, wherever it stands in the order", async () => {
  const before = Array.from({ length: 30 }, (_, index) => `a${String(index).padStart(2, "0")}`);
  const paths = [...before, "src-not/x", "src/a", "src/cart/b"];
  const edits = paths.map((path) => ({ path, expect: "absent", text: "" }));
  const { checkpoint } = await call("Save", { request_id: "many", edits });
  const names = (list: { path: string }[]) => list.map(({ path }) => path);
  const [logged] = (await call("ListCheckpoints", {}, "src")).checkpoints;
  expect([names(logged.paths), logged.path_count]).toEqual([["src/a", "src/cart/b"], "33"]);
  const { changes } = await call("Context", { since_generation: "0" }, "src");
  expect(names(changes[0].paths)).toEqual(["src/a", "src/cart/b"]);
  const { facts } = await call("Explain", { id: checkpoint }, "src");
  expect([names(facts.paths), facts.path_count]).toEqual([["src/a", "src/cart/b"], "33"]);
  // One that is bound to two prefixes gets what lies below either, in order.
  expect(names((await call("ListCheckpoints", {}, "deep")).checkpoints[0].paths)).toEqual(["a00", "src/cart/b"]);
  const [owners] = (await call("ListCheckpoints", {})).checkpoints;
  expect(names(owners.paths)).toEqual(before.slice(0, 20));
});
