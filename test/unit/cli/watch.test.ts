import { describe, expect, test } from "vitest";
import { eventLine } from "../../../src/clients/cli/events.ts";
import { Output } from "../../../src/clients/cli/output.ts";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

const now = new Date(2026, 10, 30, 12, 3, 44);
const on = (isTTY: boolean, env = { NO_COLOR: "1" }): Output => new Output(() => ({ write: () => true, isTTY }), env);

const checkpoint: JsonObject = {
  checkpoint: {
    id: "ck_00000000000000000003",
    cause: "CAUSE_UNDO",
    principal: "ann",
    message: "not\nthat \u001b[2J",
    time: now.toISOString(),
    paths: [{ path: "src/a.ts" }, { path: "b\u202e.ts" }],
    path_count: "7",
    undoes: ["ck_00000000000000000002"],
  },
};
const lease = (change: string): JsonObject => ({
  lease: {
    change: `LEASE_CHANGE_${change}`,
    lease: {
      lease_id: "ls_00000000000000000001",
      holder: "agent-7",
      intent: "rename",
      paths: ["src", "docs"],
      remaining_ms: "600000",
    },
  },
});
const annotation: JsonObject = {
  annotation: {
    id: "an_00000000000000000001",
    principal: "bob",
    text: "first line\nsecond",
    time: now.toISOString(),
    reply_to: "",
    corrects: "",
    anchors: [
      { anchor: { path: "a.ts", start_line: "3", end_line: "5" } },
      { anchor: { path: "b.ts", start_line: "0", end_line: "0" } },
    ],
  },
};

describe("a line an event", () => {
  test("of memory names the key, and the scope with its name where it is not the project", () => {
    const event = { change: "MEMORY_CHANGE_SAVED", key: "db.host", principal: "bob", kind: "fact", time: now.toISOString() };
    const line = (over: object) => eventLine(on(false), { memory: { ...event, ...over } }, now).replace(/ +/g, " ");
    expect(line({ scope: "project", scope_id: "rp_1" })).toMatch(/ noted bob memory db\.host project$/);
    expect(line({ scope: "task", scope_id: "t\u001b[2J", change: "MEMORY_CHANGE_EXPIRED" })).toMatch(
      / expired bob memory db\.host task t\\x1b\[2J$/,
    );
  });

  test("on a terminal: time of day, short ids, nothing that steers it", () => {
    const lines = [
      checkpoint,
      lease("GRANTED"),
      lease("RELEASED"),
      annotation,
      { trimmed: { kinds: ["WATCH_KIND_CHECKPOINT"] } },
    ];
    expect(lines.map((message) => eventLine(on(true), message, now))).toEqual([
      "12:03:44  undo       ann         ck_00000000  src/a.ts b\\u202e.ts +5  takes back ck_00000000  not\\nthat \\x1b[2J",
      "12:03:44  granted    agent-7     ls_00000000  lease on src docs  10 m 0 s left  rename",
      "12:03:44  released   agent-7     ls_00000000  lease on src docs  rename",
      "12:03:44  annotated  bob         an_00000000  a.ts:3-5 b.ts  first line …",
      "12:03:44  gap                                 checkpoint events are not all kept: read the workspace again",
    ]);
    expect(eventLine(on(true, { NO_COLOR: "" }), checkpoint, now)).toContain("\x1b[31mundo     \x1b[39m");
  });

  test("piped: whole ids and times", () => {
    const [line, other] = [checkpoint, { trimmed: { kinds: ["WATCH_KIND_LEASE"] } }].map((one) => eventLine(on(false), one, now));
    expect(line).toMatch(/^2026-11-\d\dT\d\d:03:44Z {2}undo {7}ann {9}ck_00000000000000000003 {2}src\/a\.ts/);
    expect(other).toContain("lease events are not all kept: those held now follow");
  });
});

describe("gin watch", () => {
  const envelope = (message: JsonObject, flags = 0): Buffer => {
    const body = Buffer.from(JSON.stringify(message));
    const head = Buffer.from([flags, 0, 0, 0, 0]);
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
  };
  const bytes = Buffer.concat([
    envelope({ cursor: "c1", ready: {} }),
    envelope({ cursor: "c2", ...lease("GRANTED") }),
    envelope({}, 2),
  ]);

  test("asks for the kinds given, prints events alone, and tells where to go on", async () => {
    const daemon = await fakeDaemon(() => ({ bytes, type: "application/connect+json" }));
    const at = ["--endpoint", `unix:${daemon.socketPath}`];
    const asked = ["watch", "--kind", "lease", "--kind", "annotation"];
    const run = await drive([...asked, "--since", "c0", ...at]);
    expect(run.status).toBe(0);
    expect(run.stdout.split("\n").length).toBe(2);
    expect(run.stdout).toContain("lease on src docs");
    expect(run.stderr).toBe(`gin ${[...asked, ...at].join(" ")} --since c2\n`);
    expect(JSON.parse(daemon.seen[0]?.body.toString("utf8", 5) ?? "")).toEqual({
      since: "c0",
      kinds: ["WATCH_KIND_LEASE", "WATCH_KIND_ANNOTATION"],
    });
    const json = await drive(["watch", "--json", ...at]);
    expect(
      json.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).cursor),
    ).toEqual(["c1", "c2"]);
    expect(json.stderr).toBe("");
  });

  test("a kind that is none is wrong usage; a daemon that is not there is a transport failure", async () => {
    const wrong = await drive(["watch", "--kind", "weather"]);
    expect([wrong.status, wrong.stderr.includes('--kind takes checkpoint, lease, annotation or memory, not "weather"')]).toEqual([
      2,
      true,
    ]);
    expect((await drive(["watch", "--endpoint", "unix:/nowhere/s"])).status).toBe(3);
  });
});

test("gin status shows who is connected, made safe", async () => {
  const client = {
    client: "evil\u001b[2J/1",
    principal: "ann",
    transport: "tcp",
    connected_ms: "81000",
    requests: "64",
    running: "1",
    idle_ms: "0",
  };
  const idle = { ...client, client: "gin-mcp/0.1.0", transport: "socket", running: "0", idle_ms: "12000" };
  const daemon = await fakeDaemon(() => ({ json: { pid: "1", clients: [client, idle] } }));
  const run = await drive(["status", "--endpoint", `unix:${daemon.socketPath}`], { terminal: true, env: { NO_COLOR: "1" } });
  expect(run.stdout.split("\n").slice(-4)).toEqual([
    "client         principal  over    connected  requests  now",
    "evil\\x1b[2J/1  ann        tcp     1 m 21 s   64        1 running",
    "gin-mcp/0.1.0  ann        socket  1 m 21 s   64        idle for 12 s",
    "",
  ]);
});
