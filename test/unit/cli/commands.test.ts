import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../../src/clients/cli/table.ts";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { tempDir } from "../../helpers/temp.ts";
import { type FakeDaemon, fakeDaemon, type Reply } from "../sdk/fake-daemon.ts";
import { type Driven, type DriveOptions, drive } from "./drive.ts";

const SHA = "a".repeat(64);
const LEASE = {
  lease_id: "ls_1",
  holder: "me",
  intent: "",
  paths: ["src"],
  lease_incarnation: "li_1",
  lease_epoch: "7",
  remaining_ms: "60000",
};
const INFO = {
  id: "ws_1",
  name: "w",
  repository: "rp_1",
  repository_name: "w",
  root: "/r",
  status: "active",
  state: { generation: "3" },
};

/** Runs a command line against a fake that answers each operation (or admin RPC) from a table. */
async function against(
  answers: { [operation: string]: Reply | JsonObject },
  argv: string[],
  options: DriveOptions = {},
): Promise<Driven & { daemon: FakeDaemon; sent: JsonObject[] }> {
  const daemon = await fakeDaemon(({ path, json }) => {
    const name = path.endsWith("/Call") ? (Object.keys(json)[0] ?? "") : (path.split("/").at(-1) ?? "");
    const answer = answers[name] ?? {};
    if (typeof answer === "string" || "status" in answer) return answer as Reply;
    return { json: path.endsWith("/Call") ? { [name]: answer } : answer };
  });
  const driven = await drive([...argv, "--endpoint", `unix:${daemon.socketPath}`], options);
  const sent = daemon.seen.map(({ path, json }) => (path.endsWith("/Call") ? (Object.values(json)[0] as JsonObject) : json));
  return { ...driven, daemon, sent };
}

describe("read", () => {
  const page = (text: string, next: string): JsonObject => ({ kind: "PATH_KIND_FILE", text, next_cursor: next });

  test("prints a file's bytes over all its pages, raw", async () => {
    const pages = [page("one\x1b", "c1"), page("two\n", "")];
    const daemon = await fakeDaemon(() => ({ json: { read_path: pages.shift() } }));
    const { status, stdout } = await drive(["read", "a.txt", "--endpoint", `unix:${daemon.socketPath}`]);
    expect([status, stdout]).toEqual([0, "one\x1btwo\n"]);
    expect(daemon.seen.map(({ json }) => json.read_path)).toEqual([
      { path: "a.txt" },
      { path: "a.txt", cursor: "c1", limit: 1_048_576 },
    ]);
  });

  test("writes bytes that are no text as they are, and escapes them on a terminal", async () => {
    const answer = { kind: "PATH_KIND_FILE", data: Buffer.from([0x1b, 0x41]).toString("base64"), next_cursor: "" };
    expect((await against({ read_path: answer }, ["read", "a"])).stdout).toBe("\x1bA");
    expect((await against({ read_path: answer }, ["read", "a"], { terminal: true })).stdout).toBe("\\x1bA");
  });

  test.each([
    ["3-9", { start_line: 3, end_line: 9 }],
    ["3-", { start_line: 3 }],
    ["3", { start_line: 3, end_line: 3 }],
  ])("--lines %s", async (lines, fields) => {
    const { sent } = await against({ read_path: page("x", "") }, [
      "read",
      "a",
      "--lines",
      lines,
      "--snapshot",
      "base",
      "--if-hash",
      SHA,
    ]);
    expect(sent).toEqual([{ path: "a", snapshot: "base", if_hash: SHA, ...fields }]);
  });

  test("--json prints one page's message as it came, and --limit one page with its cursor", async () => {
    const json = await against({ read_path: page("x", "c1") }, ["read", "a", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual(page("x", "c1"));
    const one = await against({ read_path: page("x", "c1") }, ["read", "a", "--limit", "10", "--cursor", "c0"]);
    expect([one.stdout, one.sent[0]?.cursor]).toEqual(["x", "c0"]);
    expect(one.stderr).toMatch(/^more: gin read a --limit 10 --endpoint unix:\S+ --cursor c1\n$/);
  });

  test("lists a directory, tells facts, and says when nothing changed", async () => {
    const entries = [
      { name: "src", kind: "PATH_KIND_DIRECTORY", size: "0" },
      { name: "a\n\x1b.txt", kind: "PATH_KIND_FILE", size: "2048", executable: true },
    ];
    const directory = await against({ read_path: { kind: "PATH_KIND_DIRECTORY", entries, next_cursor: "" } }, ["read", "."]);
    expect(directory.stdout).toBe(
      "kind       size     name\ndirectory           src/\nfile       2.0 KiB  a\\n\\x1b.txt  executable\n",
    );
    const stat = await against({ read_path: { path: "a", kind: "PATH_KIND_FILE", sha256: SHA, size: "5" } }, [
      "read",
      "a",
      "--stat",
    ]);
    expect(stat.stdout).toContain(`sha256  ${SHA}\n`);
    expect(stat.sent[0]?.content).toBe(false);
    const same = await against({ read_path: { kind: "PATH_KIND_FILE", unchanged: true, next_cursor: "" } }, ["read", "a"]);
    expect([same.status, same.stdout, same.stderr]).toEqual([0, "", "unchanged\n"]);
  });
});

describe("save and rm", () => {
  const saved = { checkpoint: "ck_1", paths: [{ path: "a", sha256: SHA }], request_id: "rq_1" };

  test("sends the bytes of a file as text, or as data when they are none, with every flag", async () => {
    const dir = tempDir("save");
    writeFileSync(join(dir, "text"), "\ufeffhé\r\n");
    writeFileSync(join(dir, "data"), Buffer.from([0xff, 0]));
    const flags =
      "--expect absent --on-conflict merge -m why --dry-run --sync --incarnation in_1 --generation 4 --epoch 2 --lease-incarnation li_1 --lease-epoch 7 --request-id r-1 --executable".split(
        " ",
      );
    const text = await against({ save: saved }, ["save", "a", "--from", join(dir, "text"), ...flags]);
    expect(text.sent).toEqual([
      {
        request_id: "r-1",
        incarnation: "in_1",
        generation: "4",
        epoch: "2",
        lease_incarnation: "li_1",
        lease_epoch: "7",
        on_conflict: "ON_CONFLICT_MERGE",
        message: "why",
        dry_run: true,
        sync: true,
        edits: [{ path: "a", expect: "absent", text: "\ufeffhé\r\n", executable: true }],
      },
    ]);
    const data = await against({ save: saved }, ["save", "a", "--from", join(dir, "data"), "--expect", SHA.toUpperCase()]);
    expect(data.sent[0]?.edits).toEqual([{ path: "a", expect: SHA, data: "/wA=" }]);
    expect(data.stdout).toBe(`saved  a  ${SHA}\ncheckpoint ck_1, request rq_1\n`);
  });

  test("takes content, or a whole Save, or a Request that holds one, from standard input", async () => {
    const piped = await against({ save: saved }, ["save", "a", "--from", "-", "--expect", "absent"], { input: "hi" });
    expect(piped.sent[0]?.edits).toEqual([{ path: "a", expect: "absent", text: "hi" }]);
    const whole = { request_id: "r", edits: [{ path: "a", expect: "absent", text: "x" }] };
    for (const [argv, input] of [
      [["save"], whole],
      [["save", "--json-request", "-"], { save: whole }],
    ] as const) {
      const { sent } = await against({ save: saved }, [...argv], { input: JSON.stringify(input) });
      expect(sent).toEqual([whole]);
    }
    const merge = await against({ save: saved }, ["save", "--on-conflict", "merge"], { input: JSON.stringify(whole) });
    expect(merge.sent[0]?.on_conflict).toBe("ON_CONFLICT_MERGE");
  });

  test("rm sends a delete with the content it expects", async () => {
    const { sent, stdout } = await against({ save: { ...saved, paths: [{ path: "a", deleted: true }] } }, [
      "rm",
      "a",
      "--expect",
      SHA,
    ]);
    expect(sent[0]?.edits).toEqual([{ path: "a", expect: SHA, delete: true }]);
    expect(stdout.split("\n")[0]).toBe("deleted  a");
  });

  test.each([
    [["save", "a", "--from", "-"]],
    [["save", "a", "--expect", "absent"]],
    [["save", "a", "--from", "-", "--expect", "abc"]],
    [["save", "a", "--from", "/no/such/file", "--expect", "absent"]],
    [["save", "a", "--from", "-", "--expect", "absent", "--on-conflict", "overwrite"]],
    [["save", "a", "--from", "-", "--expect", "absent", "--lease-epoch", "x"]],
    [["save", "a", "--json-request", "-"]],
    [["rm", "a"]],
    [["rm"]],
  ])("%j is wrong usage and sends nothing", async (argv) => {
    const { status, sent, stderr } = await against({}, argv, { input: "{}" });
    expect([status, sent]).toEqual([2, []]);
    expect(stderr).toMatch(/^gin: /);
  });
});

describe("every other command sends its message", () => {
  test.each<[string, string, JsonObject, JsonObject]>([
    [
      "log src --by me --cause save --limit 5",
      "list_checkpoints",
      { checkpoints: [] },
      { path: "src", principal: "me", cause: "CAUSE_SAVE", limit: 5 },
    ],
    ["explain STALE_CONTENT", "explain", { id: "STALE_CONTENT", kind: "reason" }, { id: "STALE_CONTENT" }],
    ["details dt_1 --limit 9", "details", { text: "x", next_cursor: "" }, { detail_id: "dt_1", limit: 9 }],
    [
      "outcome rq_1 --of bob",
      "request_outcome",
      { outcome: "OUTCOME_COMMITTED" },
      { target_request_id: "rq_1", principal: "bob" },
    ],
    ["context --since 3 --full --section leases", "context", {}, { since_generation: "3", full: true, sections: ["leases"] }],
    ["capabilities", "capabilities", {}, {}],
    [
      "lease acquire src docs --ttl 1m --intent why --wait 2s --request-id r",
      "acquire_lease",
      { lease: LEASE },
      { paths: ["src", "docs"], ttl_ms: 60_000, intent: "why", wait_ms: 2000, request_id: "r" },
    ],
    [
      "lease release ls_1 --lease-incarnation li_1 --lease-epoch 7",
      "release_lease",
      { released: true },
      { lease_id: "ls_1", lease_incarnation: "li_1", lease_epoch: "7" },
    ],
    ["lease list", "list_leases", { leases: [LEASE] }, { limit: 0 }],
    [
      "lease break ls_1 --note gone --request-id r",
      "break_lease",
      { lease: LEASE },
      { lease_id: "ls_1", note: "gone", request_id: "r" },
    ],
    ["workspace open /r --name n --request-id r", "OpenWorkspace", { info: INFO }, { root: "/r", name: "n", request_id: "r" }],
    ["workspace list", "ListWorkspaces", { workspaces: [INFO] }, {}],
    ["workspace close w --request-id r", "CloseWorkspace", { info: INFO }, { workspace: "w", request_id: "r" }],
    ["workspace remove w --request-id r", "RemoveWorkspace", { info: INFO }, { workspace: "w", request_id: "r" }],
    ["token list", "ListTokens", { tokens: [] }, {}],
    ["token revoke tk_1 --request-id r", "RevokeToken", { info: { id: "tk_1" } }, { id: "tk_1", request_id: "r" }],
    ["backup /b --request-id r", "Backup", { directory: "/b", bytes: "5" }, { directory: "/b", request_id: "r" }],
    ["status", "Status", { version: "0.1.0" }, {}],
  ])("gin %s", async (line, operation, answer, message) => {
    const human = await against({ [operation]: answer }, line.split(" "));
    expect([human.status, human.stderr]).toEqual([0, ""]);
    expect(human.stdout).not.toBe("");
    const json = await against({ [operation]: answer }, [...line.split(" "), "--json"]);
    expect(JSON.parse(json.stdout)).toEqual(answer);
    for (const { sent } of [human, json])
      expect(sent.map(({ request_id, ...rest }) => ("request_id" in message ? { ...rest, request_id } : rest))).toEqual([
        message,
      ]);
  });

  test("lease renew keeps the fence and shows it as flags", async () => {
    const { sent, stdout } = await against({ renew_lease: { lease: LEASE } }, [
      "lease",
      "renew",
      "ls_1",
      "--lease-incarnation",
      "li_1",
      "--lease-epoch",
      "7",
    ]);
    expect(sent[0]).toMatchObject({ lease_id: "ls_1", lease_incarnation: "li_1", lease_epoch: "7" });
    expect(stdout).toContain("--lease-incarnation li_1 --lease-epoch 7");
  });

  test("explain shows facts as aligned lines: a list of words on one, each object of a list on its own", async () => {
    const paths = [{ path: "a\x1b", size: "1", renamed_from: "" }, { path: "b" }];
    const facts = { code: "Aborted", retryable: true, facts: ["lease_id", "holder"], none: [], paths };
    const answer = { id: "X", kind: "reason", summary: "X: why", facts, next: ["wait"] };
    expect((await against({ explain: answer }, ["explain", "X"])).stdout).toBe(
      [
        "X (reason)",
        "X: why",
        "code       Aborted",
        "retryable  true",
        "facts      lease_id, holder",
        "paths      path=a\\x1b size=1",
        "paths      path=b",
        "next  wait",
        "",
      ].join("\n"),
    );
  });

  test("token create prints the token alone, or writes it to a private file", async () => {
    const answer = {
      token: "gin_1_secret",
      info: { id: "tk_1", principal: "bob", scopes: ["read"], workspaces: ["ws_1", "ws_2"] },
    };
    const line = [
      "token",
      "create",
      "bob",
      "--scope",
      "read,save",
      "--for",
      "w",
      "--path",
      "src",
      "--expires",
      "1d",
      "--request-id",
      "r",
    ];
    const printed = await against({ CreateToken: answer }, line);
    expect(printed.stdout).toBe("gin_1_secret\n");
    expect(printed.stderr).toBe("token       tk_1\nprincipal   bob\nscopes      read\nworkspaces  ws_1 ws_2\npaths       all\n");
    expect(printed.sent).toEqual([
      {
        principal: "bob",
        scopes: ["read", "save"],
        workspaces: ["w"],
        paths: ["src"],
        expires_in_ms: 86_400_000,
        request_id: "r",
      },
    ]);
    const file = join(tempDir("token"), "t");
    const written = await against({ CreateToken: answer }, [...line, "--out", file]);
    expect(written.stdout + written.stderr).not.toContain("secret");
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["gin_1_secret\n", 0o600]);
    expect((await against({}, ["token", "create", "bob"])).status).toBe(2);
  });

  test("call prints the Response whole; an error in it is status 1, and a minted id is told", async () => {
    const good = await against({ read_path: { text: "x" } }, [
      "call",
      "--json",
      '{"read_path":{"path":"a"}}',
      "--workspace",
      "w",
    ]);
    expect([good.status, JSON.parse(good.stdout), good.sent]).toEqual([
      0,
      { read_path: { text: "x" } },
      [{ path: "a", workspace: "w" }],
    ]);
    const daemon = await fakeDaemon(() => ({ json: { error: { reason: "BUSY" } } }));
    const refused = await drive(["call", "--json", "-", "--endpoint", `unix:${daemon.socketPath}`], {
      input: '{"save":{"edits":[]}}',
    });
    expect([refused.status, JSON.parse(refused.stdout)]).toEqual([1, { error: { reason: "BUSY" } }]);
    expect(refused.stderr).toContain(String((daemon.seen[0]?.json.save as JsonObject | undefined)?.request_id));
    for (const bad of ["{", "[]", "{}", '{"a":{},"b":{}}']) expect((await against({}, ["call", "--json", bad])).status).toBe(2);
  });
});

describe("exit statuses", () => {
  test("1: the engine's error is explained: reason, suggestion, facts without content, next call, request id", async () => {
    const facts = { paths: [{ path: "a\x1b", current_sha256: SHA, current_text: "SECRET\n", merge: "clean" }] };
    const error = {
      reason: "STALE_CONTENT",
      message: "a changed",
      suggestion: "merge",
      facts,
      next_call: { save: { on_conflict: "ON_CONFLICT_MERGE" } },
    };
    const daemon = await fakeDaemon(() => ({ json: { error } }));
    const line = ["save", "a", "--from", "-", "--expect", SHA, "--endpoint", `unix:${daemon.socketPath}`];
    const { status, stderr, stdout } = await drive(line, { input: "x" });
    expect([status, stdout]).toEqual([1, ""]);
    const id = String((daemon.seen[0]?.json.save as JsonObject | undefined)?.request_id);
    expect(stderr).toBe(
      `gin: STALE_CONTENT: a changed\n  merge\n  paths: path=a\\x1b current_sha256=${SHA} merge=clean\n  next: the same command with --on-conflict merge\n  request ${id}\n`,
    );
    const json = await drive([...line, "--json"], { input: "x" });
    expect([json.status, JSON.parse(json.stdout), json.stderr]).toEqual([1, { error }, ""]);
  });

  test("1: the next call is a command line with the session's flags", async () => {
    const next_call = { acquire_lease: { paths: ["it's"] } };
    const daemon = await fakeDaemon(() => ({
      json: { error: { reason: "LEASE_REQUIRED", message: "m", next_call, retry_after_ms: "40", detail_id: "dt_1" } },
    }));
    const { stderr } = await drive(["read", "a", "--workspace", "w", `--endpoint=unix:${daemon.socketPath}`]);
    const flags = ` --workspace w --endpoint=unix:${daemon.socketPath}`;
    expect(stderr).toContain(`  next: gin call${flags} --json '{"acquire_lease":{"paths":["it'\\''s"]}}'\n`);
    expect(stderr).toContain(`  retry after 40 ms\n  more: gin details dt_1${flags}\n`);
  });

  test.each([
    [["frob"]],
    [["lease"]],
    [["lease", "frob"]],
    [["read"]],
    [["read", "a", "b"]],
    [["read", "a", "--frob"]],
    [["read", "a", "--timeout", "soon"]],
    [["read", "a", "--lines", "9-x"]],
    [["log", "--limit", "0"]],
    [["config", "set", "frob", "1"]],
    [["config", "set", "listen"]],
    [["help", "frob"]],
  ])("2: %j is wrong usage", async (argv) => {
    const { status, stdout, stderr } = await drive(argv, { env: { GIN_HOST: tempDir("host") } });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^gin: /);
  });

  test("3: nothing is there and nothing may be started; or the answer of a read was lost", async () => {
    const absent = await drive(["read", "a", "--no-spawn"], { env: { GIN_HOST: tempDir("host") } });
    expect(absent.status).toBe(3);
    expect(absent.stderr).toContain("nothing was sent");
    expect(absent.stderr).toContain("gin start");
    const lost = await against({ read_path: "break" }, ["read", "a"]);
    expect([lost.status, lost.stderr]).toEqual([
      3,
      "gin: the connection broke before the answer came\n  nothing was changed; it can be asked again\n",
    ]);
  });

  test("4: a mutation was sent and no answer came: the command that tells is printed", async () => {
    const { status, stderr, sent, daemon } = await against(
      { save: "break" },
      ["save", "a", "--from", "-", "--expect", "absent"],
      { input: "x" },
    );
    expect(status).toBe(4);
    expect(stderr.split("\n").at(-2)).toBe(`  gin outcome ${String(sent[0]?.request_id)} --endpoint unix:${daemon.socketPath}`);
  });
});

describe("help", () => {
  test("names every command, and each tells its usage", async () => {
    const { stdout } = await drive(["help"]);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toContain(`  ${name} `);
    for (const name of Object.keys(COMMANDS).filter((words) => words !== "mcp")) {
      const help = await drive([...name.split(" "), "--help"]);
      expect([name, help.status]).toEqual([name, 0]);
      expect(help.stdout).toContain(`gin ${name}`);
    }
    expect((await drive(["help", "lease", "acquire"])).stdout).toContain("--ttl");
    expect((await drive(["help", "lease"])).stdout.split("\n").length).toBe(6);
  });

  test("flags may stand before the command, and --version is the version", async () => {
    const daemon = await fakeDaemon(() => ({ json: { read_path: { kind: "PATH_KIND_FILE", text: "x", next_cursor: "" } } }));
    expect((await drive(["--endpoint", `unix:${daemon.socketPath}`, "read", "a"])).stdout).toBe("x");
    expect((await drive(["--version"])).stdout).toBe("0.1.0\n");
  });
});

test("config is read and written without a daemon, and says where each value comes from", async () => {
  const env = { GIN_HOST: tempDir("host"), GIN_LOG_LEVEL: "warn" };
  expect((await drive(["config", "set", "idle_ms", "5000"], { env })).status).toBe(0);
  expect((await drive(["config", "get", "idle_ms"], { env })).stdout).toBe("5000\n");
  const { stdout } = await drive(["config", "get"], { env });
  expect(stdout).toMatch(/^idle_ms +5000 +file /m);
  expect(stdout).toMatch(/^log_level +warn +environment /m);
  expect(stdout).toMatch(/^durability +default +default /m);
  expect(JSON.parse((await drive(["config", "get", "--json"], { env })).stdout)).toMatchObject({
    idle_ms: 5000,
    allow_hosts: [],
  });
  await drive(["config", "set", "idle_ms", "--unset"], { env });
  expect((await drive(["config", "get", "idle_ms"], { env })).stdout).toBe("1800000\n");
  expect((await drive(["config", "set", "idle_ms", "1"], { env })).stderr).toContain("idle_ms must be a whole number");
});

test("a token file that others can read is refused before anything is sent", async () => {
  const file = join(tempDir("token"), "t");
  writeFileSync(file, "gin_1_secret\n", { mode: 0o644 });
  const { status, stderr, sent } = await against({}, ["read", "a", "--token-file", file]);
  expect([status, sent]).toEqual([2, []]);
  expect(stderr).toContain("chmod 600");
});
