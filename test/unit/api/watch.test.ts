import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/daemon/api/index.ts";
import { Streams } from "../../../src/daemon/api/streams.ts";
import { type Clock, type GinError, systemClock } from "../../../src/daemon/base/index.ts";
import type { Store } from "../../../src/daemon/store/index.ts";
import { type ApiSite, caller, openApi } from "./site.ts";
import { told, watching } from "./watching.ts";

let count = 0;

/** Saves one new file; gives the checkpoint's id. */
async function save(site: ApiSite, path: string): Promise<string> {
  const edits = [{ path, expect: "absent", text: `${path}\n` }];
  const answer = await site.call("Save", { request_id: `save-${++count}`, edits });
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
  return answer.body.checkpoint;
}

async function lease(site: ApiSite, path: string, as = "owner") {
  const answer = await site.call("AcquireLease", { request_id: `lease-${++count}`, paths: [path], ttl_ms: 60_000 }, { as });
  return answer.body.lease;
}

const release = (site: ApiSite, { lease_id, lease_incarnation, lease_epoch }: Record<string, string>, as = "owner") =>
  site.call("ReleaseLease", { lease_id, lease_incarnation, lease_epoch }, { as });

describe("a fresh stream", () => {
  it("begins with ready at the head, then tells what happens from then on, with a cursor each", async () => {
    const site = await openApi();
    await save(site, "before.txt");
    const stream = await watching(site, {});
    const ready = await stream.next();
    expect(told(ready)).toBe("ready");
    expect(ready.state).toEqual((await site.call("Context", {})).body.state);
    const id = await save(site, "a.txt");
    const held = await lease(site, "src");
    const messages = await stream.take(2);
    expect(messages.map(told)).toEqual(["save a.txt", "GRANTED src"]);
    const [listed] = (await site.call("ListCheckpoints", { limit: 1 })).body.checkpoints;
    expect(messages[0].checkpoint).toEqual(listed);
    expect(messages[0].checkpoint.id).toBe(id);
    // One's own lease is told with its fence.
    expect(messages[1].lease.lease).toMatchObject({ lease_id: held.lease_id, lease_incarnation: held.lease_incarnation });
    await release(site, held);
    expect(told(await stream.next())).toBe("RELEASED src");
    const cursors = new Set([ready, ...messages].map(({ cursor }) => cursor));
    expect([cursors.size, cursors.has("")]).toEqual([3, false]);
  });

  it("tells of annotations, with anchors as they stand, and goes on after each", async () => {
    const site = await openApi({ callers: { agent: caller("agent", { paths: ["src"] }) } });
    await save(site, "src/a.txt");
    const stream = await watching(site, { kinds: ["WATCH_KIND_ANNOTATION"] });
    const narrow = await watching(site, { kinds: ["WATCH_KIND_ANNOTATION"] }, "agent");
    await Promise.all([stream.next(), narrow.next()]);
    const note = async (text: string, path: string): Promise<string> => {
      const anchors = [{ path, start_line: 1, end_line: 1 }];
      return (await site.call("WriteAnnotation", { request_id: `note-${++count}`, text, anchors })).body.id;
    };
    const first = await note("why", "src/a.txt");
    await save(site, "b.txt");
    await note("elsewhere", "b.txt");
    const messages = await stream.take(2);
    expect(messages.map(told)).toEqual(["annotation why", "annotation elsewhere"]);
    const listed = (await site.call("ListAnnotations", {})).body.annotations;
    expect(messages.map(({ annotation }) => annotation)).toEqual(listed.toReversed());
    expect(messages[0].annotation).toMatchObject({ id: first, anchors: [{ standing: "ANCHOR_STANDING_SAME" }] });
    const again = await watching(site, { kinds: ["WATCH_KIND_ANNOTATION"], since: messages[0].cursor });
    expect((await again.take(2)).map(told)).toEqual(["annotation elsewhere", "ready"]);
    await note("for all", "src/a.txt");
    expect((await narrow.take(2)).map(told)).toEqual(["annotation why", "annotation for all"]);
  });

  it("follows only the kinds asked for", async () => {
    const site = await openApi();
    const stream = await watching(site, { kinds: ["WATCH_KIND_CHECKPOINT"] });
    expect(told(await stream.next())).toBe("ready");
    await lease(site, "src");
    await save(site, "a.txt");
    expect(told(await stream.next())).toBe("save a.txt");
  });
});

describe("a cursor", () => {
  it("goes on after its event: what was missed first, then ready", async () => {
    const site = await openApi();
    const first = await watching(site, {});
    await first.next();
    await save(site, "a.txt");
    const { cursor } = await first.next();
    first.leave();
    await save(site, "b.txt");
    const held = await lease(site, "src");
    await release(site, held);
    await save(site, "c.txt");
    const second = await watching(site, { since: cursor });
    expect((await second.take(5)).map(told)).toEqual(["save b.txt", "save c.txt", "GRANTED src", "RELEASED src", "ready"]);
    await save(site, "d.txt");
    expect(told(await second.next())).toBe("save d.txt");
  });

  it("works from every event of a long catching up, without a gap or a duplicate", async () => {
    const site = await openApi();
    const start = (await (await watching(site, { kinds: ["WATCH_KIND_CHECKPOINT"] })).next()).cursor;
    const ids: string[] = [];
    for (let index = 0; index < 80; index += 1) ids.push(await save(site, `f${index}.txt`));
    const seen: string[] = [];
    let cursor = start;
    for (const piece of [1, 31, 32, 16]) {
      const stream = await watching(site, { since: cursor, kinds: ["WATCH_KIND_CHECKPOINT"] });
      const messages = await stream.take(piece);
      seen.push(...messages.map((message) => message.checkpoint.id));
      cursor = messages.at(-1).cursor;
      stream.leave();
    }
    expect(seen).toEqual(ids);
  });

  it("outlives the daemon for checkpoints; of leases the ones held are told anew", async () => {
    const site = await openApi();
    const stream = await watching(site, {});
    const { cursor } = await stream.next();
    const id = await save(site, "a.txt");
    await lease(site, "src");
    await site.close();
    const again = await openApi({ directory: site.directory });
    const next = await watching(again, { since: cursor });
    const messages = await next.take(4);
    expect(messages.map(told)).toEqual(["trimmed LEASE", "HELD src", "save a.txt", "ready"]);
    expect(messages[0].trimmed).toEqual({ kinds: ["WATCH_KIND_LEASE"] });
    expect(messages[2].checkpoint.id).toBe(id);
    // Whoever breaks off before it heard what is held hears it again.
    expect((await (await watching(again, { since: messages[0].cursor })).take(2)).map(told)).toEqual([
      "trimmed LEASE",
      "HELD src",
    ]);
    const rest = await watching(again, { since: messages[1].cursor });
    expect((await rest.take(2)).map(told)).toEqual(["save a.txt", "ready"]);
  });

  it("of another life of the workspace goes on after a gap in everything", async () => {
    const site = await openApi();
    const { cursor } = await (await watching(site, {})).next();
    await save(site, "a.txt");
    const moved = { machine: "another", hostIdentity: "another", incarnations: ["in_renewed"], leaseIncarnation: "li_renewed" };
    await site.store.write("takeover", moved);
    await site.close();
    const again = await openApi({ directory: site.directory });
    const stream = await watching(again, { since: cursor });
    expect((await stream.take(2)).map(told)).toEqual(["trimmed CHECKPOINT LEASE ANNOTATION MEMORY", "ready"]);
    await save(again, "b.txt");
    expect(told(await stream.next())).toBe("save b.txt");
  });

  it("is bound to principal, workspace and kinds, and cannot be altered", async () => {
    const site = await openApi({ callers: { bob: caller("bob") } });
    const { cursor } = await (await watching(site, { kinds: ["WATCH_KIND_LEASE"] })).next();
    const refused = async (request: object, as?: string) => await (await watching(site, request, as)).ended();
    expect(await refused({ since: cursor, kinds: ["WATCH_KIND_LEASE"] }, "bob")).toBe("INVALID_CURSOR");
    expect(await refused({ since: cursor })).toBe("INVALID_CURSOR");
    expect(
      await refused({ since: `${cursor.slice(0, -1)}${cursor.endsWith("A") ? "B" : "A"}`, kinds: ["WATCH_KIND_LEASE"] }),
    ).toBe("INVALID_CURSOR");
    const twice = await watching(site, { since: cursor, kinds: ["WATCH_KIND_LEASE", "WATCH_KIND_LEASE"] });
    expect(told(await twice.next())).toBe("ready");
  });
});

describe("a gap", () => {
  it("is told where checkpoints are not kept any more, and the stream goes on from the head", async () => {
    let goneTo = 0;
    const site = await openApi();
    const reader = site.store.read as { -readonly [K in keyof Store["read"]]: Store["read"][K] };
    const real = reader.checkpointsAfter;
    reader.checkpointsAfter = (workspace, generation, limit) => real(workspace, Math.max(goneTo, generation), limit);
    const first = await watching(site, {});
    const { cursor } = await first.next();
    // Gone for good: what it was told others would be told as well.
    first.leave();
    await expect.poll(() => site.api.running()).toBe(0);
    await save(site, "a.txt");
    await save(site, "b.txt");
    goneTo = Number((await site.call("Context", {})).body.state.generation) - 1;
    const stream = await watching(site, { since: cursor });
    expect((await stream.take(2)).map(told)).toEqual(["trimmed CHECKPOINT", "ready"]);
    await save(site, "c.txt");
    expect(told(await stream.next())).toBe("save c.txt");
  });

  it("is told to a reader that falls behind the kept changes of leases, with those held now", async () => {
    const site = await openApi({ changesKept: 4 });
    const { cursor } = await (await watching(site, { kinds: ["WATCH_KIND_LEASE"] })).next();
    for (let turn = 0; turn < 4; turn += 1) await release(site, await lease(site, "src"));
    await lease(site, "docs");
    const stream = await watching(site, { since: cursor, kinds: ["WATCH_KIND_LEASE"] });
    expect((await stream.take(3)).map(told)).toEqual(["trimmed LEASE", "HELD docs", "ready"]);
  });
});

describe("what a token sees", () => {
  const scopes = new Set(["read", "lease", "save"] as const);
  const only = caller("agent", { scopes, paths: ["src"], tokenId: "tk_none", transport: "socket" });

  it("is what lies under its paths, without others' fences", async () => {
    const site = await openApi({ callers: { agent: { ...only, tokenId: undefined } } });
    const stream = await watching(site, {}, "agent");
    await stream.next();
    await save(site, "secret/a.txt");
    await save(site, "src/a.txt");
    const hidden = await lease(site, "secret");
    const other = await lease(site, "src/deep");
    const messages = await stream.take(2);
    expect(messages.map(told)).toEqual(["save src/a.txt", "GRANTED src/deep"]);
    expect(messages[1].lease.lease).toMatchObject({ lease_id: other.lease_id, lease_incarnation: "", lease_epoch: "0" });
    expect(JSON.stringify(messages)).not.toContain("secret");
    // What it may not see is passed over by its cursors too.
    await release(site, hidden);
    await save(site, "secret/b.txt");
    const again = await watching(site, { since: messages[1].cursor }, "agent");
    expect(told(await again.next())).toBe("ready");
  });

  it("needs the scope read and the workspace", async () => {
    const site = await openApi({
      callers: {
        saver: caller("s", { scopes: new Set(["save"]) }),
        elsewhere: caller("e", { workspaces: ["ws_other"] }),
      },
    });
    expect(await (await watching(site, {}, "saver")).ended()).toBe("SCOPE_FORBIDDEN");
    expect(await (await watching(site, { workspace: site.workspace.id }, "elsewhere")).ended()).toBe("SCOPE_FORBIDDEN");
    expect(await (await watching(site, {}, "nobody")).ended()).toBe("UNAUTHENTICATED");
  });
});

describe("the form of a request", () => {
  it.each([
    [{ kind: 1 }, "INVALID_REQUEST"],
    [{ kinds: ["WATCH_KIND_WEATHER"] }, "INVALID_REQUEST"],
    [{ kinds: ["WATCH_KIND_UNSPECIFIED"] }, "INVALID_REQUEST"],
    [{ kinds: [99] }, "INVALID_REQUEST"],
    [{ since: "nonsense" }, "INVALID_CURSOR"],
    [{ request_id: "no spaces" }, "INVALID_REQUEST"],
    [{ workspace: "nowhere" }, "WORKSPACE_NOT_FOUND"],
  ])("%j is refused", async (request, reason) => {
    const site = await openApi();
    expect(await (await watching(site, request)).ended()).toBe(reason);
  });
});

describe("the end", () => {
  it("comes with a reason when the workspace is closed, and when it is removed", async () => {
    const site = await openApi();
    const id = site.workspace.id;
    const stream = await watching(site, {});
    await stream.next();
    await site.admin("CloseWorkspace", { request_id: "close", workspace: id });
    expect(await stream.ended()).toBe("WORKSPACE_NOT_FOUND");
    const second = await openApi();
    const other = await watching(second, {});
    await other.next();
    await second.admin("RemoveWorkspace", { request_id: "remove" });
    expect(await other.ended()).toBe("WORKSPACE_NOT_FOUND");
  });

  it("comes when the token runs out, by the wall clock", async () => {
    let ahead = 0;
    const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + ahead };
    let tokenId: string | undefined;
    const agent = Object.defineProperty({ ...caller("agent") }, "tokenId", { get: () => tokenId });
    const site = await openApi({ clock, callers: { agent } });
    const made = await site.admin("CreateToken", {
      request_id: "t",
      principal: "agent",
      scopes: ["read"],
      expires_in_ms: 60_000,
    });
    tokenId = made.body.info.id;
    const stream = await watching(site, {}, "agent");
    await stream.next();
    ahead = 59_000;
    await save(site, "a.txt");
    expect(told(await stream.next())).toBe("save a.txt");
    ahead = 60_000;
    const began = performance.now();
    expect(await stream.ended()).toBe("TOKEN_EXPIRED");
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it("gives its place back: so many of a principal, the next is BUSY", async () => {
    const site = await openApi({ callers: { bob: caller("bob") } });
    const most = LIMITS.streams_principal.value;
    const open = await Promise.all(Array.from({ length: most }, () => watching(site, {})));
    for (const stream of open) expect(told(await stream.next())).toBe("ready");
    expect(site.api.running()).toBe(most);
    expect(await (await watching(site, {})).ended()).toBe("BUSY");
    expect(told(await (await watching(site, {}, "bob")).next())).toBe("ready");
    open[0]?.leave();
    await expect.poll(() => site.api.running()).toBe(most);
    expect(told(await (await watching(site, {})).next())).toBe("ready");
  });

  it("is waited for by nobody else: so many of all, the next is BUSY until one ends", () => {
    const streams = new Streams();
    const each = LIMITS.streams_principal.value;
    const leave: (() => void)[] = [];
    for (let index = 0; index < LIMITS.streams.value; index += 1) leave.push(streams.enter(`p${Math.floor(index / each)}`));
    const reasonOf = (enter: () => unknown): string => {
      try {
        enter();
      } catch (thrown) {
        return (thrown as GinError).reason;
      }
      return "";
    };
    expect(reasonOf(() => streams.enter("late"))).toBe("BUSY");
    leave[0]?.();
    expect(streams.size).toBe(LIMITS.streams.value - 1);
    expect(reasonOf(() => streams.enter("p1"))).toBe("BUSY");
    expect(reasonOf(() => streams.enter("late"))).toBe("");
  });
});
