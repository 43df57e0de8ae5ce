import { describe, expect, it } from "vitest";
import { MEMORY_CHANGES_KEPT } from "../../../src/daemon/store/index.ts";
import { caller } from "../api/site.ts";
import { type Message, watching } from "../api/watching.ts";
import { openTools, type ToolSite } from "../tools/site.ts";

const MEMORY = { kinds: ["WATCH_KIND_MEMORY"] };

const save = (site: ToolSite, key: string, args: object = {}, as = "owner") =>
  site.ok("memory", { action: "save", key, value: "secret", ...args }, { as });

/** "SAVED key", or the name of any other event. */
function told(message: Message): string {
  if (message.memory === undefined)
    return Object.keys(message)
      .filter((name) => !["state", "cursor"].includes(name))
      .join();
  return `${message.memory.change.replace("MEMORY_CHANGE_", "")} ${message.memory.key}`;
}

describe("a watcher of memory", () => {
  it("hears of saves, forgets and what expired, with who did it, and never the value", async () => {
    const site = await openTools({}, { callers: { bob: caller("bob") } });
    const stream = await watching(site.api, MEMORY);
    expect(told(await stream.next())).toBe("ready");
    await save(site, "a", { kind: "lesson" });
    await save(site, "b", { scope: "task", scope_id: "t1" }, "bob");
    await site.ok("memory", { action: "forget", key: "a" });
    const messages = await stream.take(3);
    expect(messages.map(told)).toEqual(["SAVED a", "SAVED b", "FORGOTTEN a"]);
    expect(messages[0].memory).toMatchObject({
      scope: "project",
      scope_id: site.api.hosted[0]?.repository,
      kind: "lesson",
      principal: "owner",
    });
    expect(messages[1].memory).toMatchObject({ scope: "task", scope_id: "t1", principal: "bob" });
    expect(JSON.stringify(messages)).not.toContain("secret");
  });

  it("goes on after any event, also after a restart, and misses none", async () => {
    const site = await openTools();
    const stream = await watching(site.api, MEMORY);
    await stream.next();
    for (const key of ["a", "b", "c"]) await save(site, key);
    const [first] = await stream.take(3);
    await site.api.close();
    const again = await openTools({}, { directory: site.api.directory });
    await again.ok("memory", { action: "save", key: "d" }, { requestId: "after" });
    const resumed = await watching(again.api, { ...MEMORY, since: first.cursor });
    expect((await resumed.take(4)).map(told)).toEqual(["SAVED b", "SAVED c", "SAVED d", "ready"]);
  });

  it("is told of a gap when more happened than is kept: at the limit, and one more", async () => {
    const site = await openTools();
    const stream = await watching(site.api, MEMORY);
    const { cursor } = await stream.next();
    stream.leave();
    const { store } = site.api;
    const bucket = { scope: "global", scopeId: "" } as const;
    const row = { ...bucket, seq: 0, value: "", kind: "fact", pinned: false, principal: "p", requestId: "" } as const;
    const quota = { bucketBytes: 1e9, totalBytes: 1e9 };
    const times = { createdMs: 1, updatedMs: 1, expiresMs: 0 };
    const write = (key: string) => store.write("memory.save", { row: { ...row, ...times, key }, quota });
    await Promise.all(Array.from({ length: MEMORY_CHANGES_KEPT }, (_, n) => write(`k${n}`)));
    const all = await watching(site.api, { ...MEMORY, since: cursor });
    expect((await all.take(MEMORY_CHANGES_KEPT + 1)).map(told).at(-1)).toBe("ready");
    await write("one more");
    const late = await watching(site.api, { ...MEMORY, since: cursor });
    const gap = await late.next();
    expect(gap.trimmed).toEqual({ kinds: ["WATCH_KIND_MEMORY"] });
    expect(told(await late.next())).toBe("ready");
  });

  it("sees what the tool would show it: no scope memory, nothing; some workspaces, their project", async () => {
    const first = await openTools();
    const workspaces = [first.api.hosted[0]?.id ?? ""];
    await first.api.close();
    const site = await openTools(
      {},
      {
        directory: first.api.directory,
        callers: {
          bound: caller("bound", { workspaces }),
          reader: caller("reader", { scopes: new Set(["read"]) }),
        },
      },
    );
    const [bound, reader] = [await watching(site.api, {}, "bound"), await watching(site.api, {}, "reader")];
    await Promise.all([bound.next(), reader.next()]);
    await save(site, "a", { scope: "global" });
    await save(site, "b", { scope: "project", scope_id: "elsewhere" });
    await save(site, "c");
    site.put("f.txt", "x");
    await site.ok("read_file", { path: "f.txt" });
    expect(told(await bound.next())).toBe("SAVED c");
    expect(told(await reader.next())).toBe("checkpoint");
  });
});
