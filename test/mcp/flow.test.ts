import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isLong } from "../helpers/scale.ts";
import { type Bridge, CHANNELS, type Channel, modern, startBridge, told } from "./bridge.ts";
import { type Relay, startRelay } from "./relay.ts";
import { type Site, startSite } from "./setup.ts";

let site: Site;
beforeAll(async () => {
  site = await startSite();
});

async function held(channel?: Channel): Promise<{ bridge: Bridge; relay: Relay }> {
  const relay = await startRelay(site.daemon.ready.socket);
  const bridge = startBridge(["--endpoint", relay.endpoint], { ...(channel !== undefined && { channel }) });
  await bridge.initialize();
  relay.hold();
  return { bridge, relay };
}

const readCall = (id: string | number, path = "a.txt"): object => ({
  id,
  method: "tools/call",
  params: { name: "gin_read", arguments: { path } },
});

const answersTo = (bridge: Bridge, id: string | number) =>
  bridge.received.filter((message) => message.id === id && message.method === undefined);

describe.each(CHANNELS)("admission on a %s", (channel) => {
  it("36 calls: 32 wait, 4 are told busy at once, and nothing else is held up", async () => {
    const { bridge, relay } = await held(channel);
    for (let id = 0; id < 36; id += 1) bridge.send(readCall(id));
    for (let id = 32; id < 36; id += 1) {
      expect(await bridge.until((message) => message.id === id)).toMatchObject({ error: { code: -31029 } });
    }
    // Takes no place, and is answered while all 32 are taken.
    expect((await bridge.ask("ping")).result).toEqual({});
    expect((await bridge.ask("tools/list")).error).toBeUndefined();
    // A cancellation frees a place at once.
    bridge.send({ method: "notifications/cancelled", params: { requestId: 0, reason: "enough" } });
    bridge.send(readCall("after"));
    expect((await bridge.ask("ping")).result).toEqual({});
    expect(answersTo(bridge, "after")).toEqual([]);
    relay.release();
    for (let id = 1; id < 32; id += 1) {
      expect(told(await bridge.until((message) => message.id === id)).json).toMatchObject({ text: "hello\n" });
    }
    expect(told(await bridge.until((message) => message.id === "after")).json).toMatchObject({ text: "hello\n" });
    expect(answersTo(bridge, 0)).toEqual([]);
  });

  it("an id in flight is refused, its first request is answered", async () => {
    const { bridge, relay } = await held(channel);
    bridge.send(readCall("twin"));
    await relay.arrived("read_path");
    bridge.send(readCall("twin", "nope"));
    expect(await bridge.until((message) => message.id === "twin")).toMatchObject({ error: { code: -32600 } });
    relay.release();
    await bridge.until((message) => message.id === "twin" && message.result !== undefined);
    expect(answersTo(bridge, "twin")).toHaveLength(2);
    expect((await bridge.tool("gin_read", { path: "a.txt" }, "twin")).json).toMatchObject({ text: "hello\n" });
  });

  it("at the end of input a slow call is answered before the process ends", async () => {
    const { bridge, relay } = await held(channel);
    bridge.send(readCall(1));
    bridge.send({
      id: 2,
      method: "tools/call",
      params: { name: "gin_save", arguments: { edits: [{ path: `eof-${channel}`, expect: "absent", text: "x" }] } },
    });
    bridge.input.end(JSON.stringify({ jsonrpc: "2.0", ...readCall("no line end") }));
    await relay.arrived("read_path", 2);
    await relay.arrived('"save"');
    expect(bridge.child.exitCode).toBeNull();
    relay.release();
    expect(await bridge.end).toEqual({ code: 0, signal: null });
    await bridge.until((message) => message.id === "no line end");
    expect(told(await bridge.until((message) => message.id === 1)).json).toMatchObject({ text: "hello\n" });
    expect(told(await bridge.until((message) => message.id === 2)).isError).toBe(false);
  });

  it("a host that does not read makes us stop reading, not grow", async () => {
    const bridge = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`], { channel });
    await bridge.initialize();
    bridge.output.pause();
    const resident = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.child.pid}/status`, "utf8"))?.[1]) / 1024;
    const before = resident();
    // 60 MB of requests whose answers are 30 times larger: more than fits anywhere on the way.
    const line = `${JSON.stringify({ jsonrpc: "2.0", id: "flood", method: "tools/list", params: { pad: "p".repeat(400) } })}\n`;
    const flood = Buffer.from(line.repeat(200));
    let taken = 0;
    let stalled = false;
    for (let block = 0; block < 600 && !stalled; block += 1) {
      taken += flood.length;
      const room = bridge.input.write(flood);
      stalled = !room && !(await drains(bridge, 2_000));
    }
    expect(stalled).toBe(true);
    // What stands in the way: two pipes, two stream buffers, 1 MiB of answers.
    expect(taken).toBeLessThan(8 * 1_048_576);
    expect(resident() - before).toBeLessThan(120);
    bridge.output.resume();
    await new Promise<void>((resolve) => bridge.input.once("drain", resolve));
    expect((await bridge.ask("ping")).result).toEqual({});
  });
});

/** Whether the bridge takes what was written within `ms`: not to is what the test waits for. */
function drains(bridge: Bridge, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (drained: boolean): void => {
      clearTimeout(timer);
      bridge.input.off("drain", yes);
      resolve(drained);
    };
    const yes = (): void => end(true);
    const timer = setTimeout(() => end(false), ms);
    bridge.input.once("drain", yes);
  });
}

describe("order", () => {
  it("mutations go in the order they came, one at a time; reads go beside them", async () => {
    const { bridge, relay } = await held();
    for (let step = 1; step <= 5; step += 1) {
      const text = "x".repeat(step);
      const args = { edits: [{ path: "ordered", text }], request_id: `step-${step}`, generation: "never-sent" };
      const { generation: _unused, ...rest } = args;
      bridge.send({
        id: `s${step}`,
        method: "tools/call",
        params:
          step % 2 === 0 ? { name: "gin_call", arguments: { request: { save: rest } } } : { name: "gin_save", arguments: rest },
      });
    }
    bridge.send(readCall("r"));
    await relay.arrived("step-1");
    await relay.arrived("read_path");
    expect(relay.sent()).not.toContain("step-2");
    relay.release();
    // Each is refused (no expect, no generation), which is an answer too.
    for (let step = 1; step <= 5; step += 1) await bridge.until((message) => message.id === `s${step}`);
    const order = [...relay.sent().matchAll(/step-(\d)/g)].map((match) => match[1]);
    expect(order).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("a lease that is waited for does not keep its holder from letting go", async () => {
    const bridge = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`]);
    await bridge.initialize();
    const acquire = { acquire_lease: { paths: ["waited"], intent: "first" } };
    const first = (await bridge.tool("gin_call", { request: acquire })).json as {
      acquire_lease: { lease: Record<string, string> };
    };
    const waiting = bridge.tool("gin_call", {
      request: { acquire_lease: { paths: ["waited"], intent: "second", wait_ms: "60000" } },
    });
    const { lease_id, lease_incarnation, lease_epoch } = first.acquire_lease.lease;
    await bridge.tool("gin_call", { request: { release_lease: { lease_id, lease_incarnation, lease_epoch } } });
    expect((await waiting).json).toMatchObject({ acquire_lease: { lease: { intent: "second" } } });
  });
});

describe("cancelling", () => {
  it.each(["legacy", "modern"])("a read stops at the daemon too; request id 0 is an id (%s)", async (era) => {
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint]);
    const ask = (method: string, params: object = {}) => bridge.ask(method, era === "modern" ? modern(params) : params);
    await (era === "modern" ? ask("tools/list") : bridge.initialize());
    relay.hold();
    const params = { name: "gin_read", arguments: { path: "a.txt" } };
    bridge.send({ id: 0, method: "tools/call", params: era === "modern" ? modern(params) : params });
    await relay.arrived("read_path");
    const closed = relay.closedByBridge();
    bridge.send({ method: "notifications/cancelled", params: { requestId: 0 } });
    await closed;
    relay.release();
    expect(told(await ask("tools/call", params)).json).toMatchObject({ text: "hello\n" });
    expect(answersTo(bridge, 0)).toEqual([]);
  });

  it("a save that was sent finishes; its outcome can be asked for", async () => {
    const { bridge, relay } = await held();
    const save = (id: string) => ({
      id,
      method: "tools/call",
      params: { name: "gin_save", arguments: { edits: [{ path: id, expect: "absent", text: id }], request_id: id } },
    });
    bridge.send(save("sent"));
    bridge.send(save("queued"));
    await relay.arrived('"save"');
    for (const requestId of ["sent", "queued"]) bridge.send({ method: "notifications/cancelled", params: { requestId } });
    expect((await bridge.ask("ping")).result).toEqual({});
    relay.release();
    const outcome = async (id: string) =>
      (await bridge.tool("gin_call", { request: { request_outcome: { target_request_id: id } } })).json.request_outcome;
    // Behind the save in the queue of mutations, so the save has ended when it is answered.
    await bridge.tool("gin_save", { edits: [{ path: "behind", expect: "absent", text: "" }] });
    expect(await outcome("sent")).toMatchObject({ outcome: "OUTCOME_COMMITTED" });
    expect(readFileSync(join(site.root, "sent"), "utf8")).toBe("sent");
    // What was taken back before it was sent never happened.
    expect(await outcome("queued")).toMatchObject({ outcome: "OUTCOME_NOT_FOUND" });
    expect(answersTo(bridge, "sent")).toEqual([]);
  });
});

it("a subscription that is open does not keep the process alive after the end of input", async () => {
  const bridge = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`]);
  await bridge.ask("tools/list", modern());
  bridge.send({ id: "listen", method: "subscriptions/listen", params: modern({ notifications: { toolsListChanged: true } }) });
  await bridge.until((message) => message.method === "notifications/subscriptions/acknowledged");
  bridge.input.end();
  expect(await bridge.end).toEqual({ code: 0, signal: null });
});

it("a call that takes long says now and then that it still runs, when asked to", async (context) => {
  if (!isLong) context.skip("waits ten seconds: npm run test:long -- --only mcp");
  const bridge = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`]);
  await bridge.initialize();
  const acquire = { acquire_lease: { paths: ["slow"], wait_ms: "60000" } };
  const { json } = await bridge.tool("gin_call", { request: acquire });
  const { lease_id, lease_incarnation, lease_epoch } = (json as { acquire_lease: { lease: Record<string, string> } })
    .acquire_lease.lease;
  const params = { name: "gin_call", arguments: { request: acquire }, _meta: { progressToken: "t" } };
  bridge.send({ id: "long", method: "tools/call", params });
  for (const progress of [1, 2]) {
    const said = await bridge.until((message) => message.params?.progress === progress);
    expect(said).toMatchObject({ method: "notifications/progress", params: { progressToken: "t" } });
  }
  await bridge.tool("gin_call", { request: { release_lease: { lease_id, lease_incarnation, lease_epoch } } });
  expect(told(await bridge.until((message) => message.id === "long")).isError).toBe(false);
  expect((await bridge.ask("ping")).result).toEqual({});
});

it("two hosts with the same ids are never crossed", async () => {
  const one = startBridge(["--host", site.host, "--root", site.root]);
  const two = startBridge(["--host", site.host, "--root", site.root], { channel: "pipe" });
  await one.initialize("2025-06-18", "one");
  await two.initialize("2025-11-25", "two");
  const rounds = Array.from({ length: 20 }, (_, id) => id);
  const texts = await Promise.all(
    [one, two].map((bridge, which) =>
      Promise.all(
        rounds.map(async (id) => {
          const path = `crossed/${which}-${id}`;
          await bridge.tool("gin_save", { edits: [{ path, expect: "absent", text: path }], request_id: `same-${id}` }, id);
          return (await bridge.tool("gin_read", { path }, `r${id}`)).json.text;
        }),
      ),
    ),
  );
  expect(texts).toEqual([0, 1].map((which) => rounds.map((id) => `crossed/${which}-${id}`)));
});
