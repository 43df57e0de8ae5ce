import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { ginBin, runGin } from "../../helpers/gin.ts";
import { runCommand } from "../../helpers/process.ts";
import { tempHost } from "../../helpers/temp.ts";
import { onDemand } from "../../mcp/setup.ts";
import { drive } from "../../unit/cli/drive.ts";
import { fakeDaemon } from "../../unit/sdk/fake-daemon.ts";

const SCALE = Number(process.env.GIN_TEST_SCALE ?? 1);

/** The text as UTF-8 can carry it. */
const whole = (text: string): string => Buffer.from(text).toString();

/** What a call comes to; a tool that has no result leaves the field out. */
interface Envelope {
  readonly [field: string]: unknown;
  readonly result: string;
  readonly meta: object;
}

/** What one call printed: standard output is exactly one line of JSON, standard error is empty. */
interface Printed {
  readonly code: number | null;
  readonly envelope: Envelope;
}

describe("gin tool, against one daemon", () => {
  const { root, host } = tempHost();
  let daemon: TestDaemon;

  async function gin(args: readonly string[], input = ""): Promise<Printed> {
    const { code, stdout, stderr } = await runGin(["tool", ...args], { host, cwd: root, input });
    expect(stderr).toBe("");
    expect(stdout.endsWith("\n")).toBe(true);
    return { code, envelope: JSON.parse(stdout) };
  }
  /** The same in this process: no start-up for each of many. */
  async function sent(input: string | Uint8Array): Promise<Printed> {
    const { status, stdout, stderr } = await drive(["tool", "--host", host], { input });
    expect(stderr).toBe("");
    return { code: status, envelope: JSON.parse(stdout) };
  }

  beforeAll(async () => {
    mkdirSync(join(root, "src"));
    writeFileSync(join(root, "a.txt"), "one\ntwo\n");
    writeFileSync(join(root, "pic"), Buffer.from("89504e470d0a1a0a", "hex"));
    daemon = await startDaemon({ host, root });
  });
  afterAll(async () => {
    await daemon.stop();
  });

  test("one object in, the envelope out, empty fields left out, status 0", async () => {
    expect(await gin([], '{"tool":"read_file","args":{"path":"a.txt"},"client":"x","request_id":"r-1"}')).toEqual({
      code: 0,
      envelope: { ok: true, result: "1\tone\n2\ttwo", request_id: "r-1" },
    });
    expect(await gin([], ' {"tool":"read_file","args":{"path":"pic"}}\n')).toEqual({
      code: 0,
      envelope: { ok: true, content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] },
    });
  });

  test("a refusal is an envelope with a code, status 1", async () => {
    const { code, envelope } = await gin([], '{"tool":"read_file","args":{"path":"gone"},"request_id":"r-2"}');
    expect(code).toBe(1);
    expect(envelope).toMatchObject({ ok: false, error_code: "file_not_found", request_id: "r-2" });
    expect(Object.keys(envelope)).toEqual(["ok", "meta", "error", "error_code", "suggestion", "request_id"]);
  });

  test("a tool by its name, its arguments in --json or on standard input", async () => {
    expect((await gin(["read_file", "--json", '{"path":"a.txt","tail":1}'])).envelope.result).toBe("2\ttwo");
    expect((await gin(["read_file", "--json", "-"], '{"path":"a.txt","tail":1}')).envelope.result).toBe("2\ttwo");
    expect(JSON.parse((await gin(["list_dir"])).envelope.result).entries).toEqual(["a.txt", "pic", "src/"]);
    expect((await gin(["read_file", "--json", "[]"])).envelope).toMatchObject({ ok: false, error_code: "invalid_args" });
  });

  test("a tool that changes something gets a request id, one that only reads gets none", async () => {
    const wrote = await gin([], '{"tool":"write_file","args":{"path":"w.txt","content":"w\\n","if_absent":true}}');
    expect(wrote.envelope).toMatchObject({ ok: true, request_id: expect.stringMatching(/^rq_[0-9a-v]{20}$/) });
    expect(readFileSync(join(root, "w.txt"), "utf8")).toBe("w\n");
    expect((await gin(["list_tools"])).envelope.request_id).toBe(undefined);
  });

  test("the same request id replays the same answer, other content under it is refused", async () => {
    const request = (content: string): string =>
      JSON.stringify({ tool: "write_file", args: { path: "again.txt", content, if_absent: true }, request_id: "again-1" });
    const first = await gin([], request("1"));
    const second = await gin([], request("1"));
    expect(second.envelope).toEqual({ ...first.envelope, meta: { ...first.envelope.meta, replayed: true } });
    expect((await gin([], request("2"))).envelope).toMatchObject({ ok: false, request_id: "again-1" });
    expect(readFileSync(join(root, "again.txt"), "utf8")).toBe("1");
  });

  test("--schema is the function schema of the tools that can run, lean, the same as list_tools gives", async () => {
    const { code, envelope } = await gin(["--schema"]);
    expect(code).toBe(0);
    const { schema, unavailable } = JSON.parse((await gin(["list_tools", "--json", '{"include_schema":true}'])).envelope.result);
    expect(envelope).toEqual(schema);
    const names = schema.map((one: { function: { name: string } }) => one.function.name);
    expect(names).toContain("read_file");
    for (const name of Object.keys(unavailable)) expect(names).not.toContain(name);
  });

  test.each([
    ["", "invalid_json", "empty"],
    ["  \n", "invalid_json", "empty"],
    ["nope", "invalid_json", "not JSON"],
    ['{"tool":"stat_file"', "invalid_json", "not JSON"],
    ["[]", "invalid_args", "must be a JSON object"],
    ['"x"', "invalid_args", "must be a JSON object"],
    ["null", "invalid_args", "must be a JSON object"],
    ['{"tool":"list_tools"}{"tool":"list_tools"}', "invalid_json", "something follows"],
    ['{"tool":"list_tools"} x', "invalid_json", "something follows"],
    ["{}", "invalid_args", "/tool"],
    ['{"tool":"  "}', "invalid_args", "/tool"],
    ['{"tool":7}', "invalid_args", "/tool"],
    ['{"Tool":"list_tools"}', "invalid_args", "/Tool"],
    ['{"tool":"list_tools","extra":1}', "invalid_args", "/extra"],
    ['{"tool":"list_tools","args":null}', "invalid_args", "/args"],
    ['{"tool":"list_tools","args":"{}"}', "invalid_args", "/args"],
    ['{"tool":"list_tools","args":[]}', "invalid_args", "/args"],
    ['{"tool":"list_tools","compress":"yes"}', "invalid_args", "/compress"],
    ['{"tool":"list_tools","request_id":7}', "invalid_args", "/request_id"],
    ['{"tool":"list_tools","tool":"list_dir"}', "invalid_json", "/tool: is given twice"],
    ['{"tool":"list_tools","t\\u006fol":"list_dir"}', "invalid_json", "/tool: is given twice"],
    ['{"tool":"x","args":{"a":[{"b":1},{"c":1,"c":2}]}}', "invalid_json", "/args/a/1/c: is given twice"],
    ['{"tool":"x","args":{"a/b":{"~":1,"~":1}}}', "invalid_json", "/args/a~1b/~0: is given twice"],
    ['{"tool":"x","args":{"n":1e999}}', "invalid_json", "/args/n"],
    ['{"tool":"x","args":{"s":"\\ud800"}}', "invalid_json", "half a character"],
    ['{"tool":"x","args":{"__proto__":{"a":1}}}', "invalid_json", "__proto__"],
    [`{"tool":"x","args":{"a":${"[".repeat(63)}${"]".repeat(63)}}}`, "invalid_json", "nested"],
    ['{"tool":"no_such_tool"}', "invalid_args", "no such tool"],
    ['{"tool":"read_file","args":{"path":"a.txt","lines":1}}', "invalid_args", "args/lines"],
    ['{"tool":"run_shell","args":{"command":"ls"}}', "unsupported", "not part of this version"],
  ])("%j is refused with %s", async (input, code, said) => {
    const printed = await sent(input);
    expect(printed).toMatchObject({ code: 1, envelope: { ok: false, error_code: code } });
    expect(printed.envelope.error).toContain(said);
    expect(printed.envelope.suggestion).not.toBe("");
  });

  test("input that comes in pieces, slowly, is read to its end", async () => {
    const pieces = `(printf '{"tool":"read_file",'; sleep 0.2; printf '"args":{"path":"a.txt","tail":1}}') | '${process.execPath}' '${ginBin}' tool --host '${host}'`;
    const { code, stdout } = await runCommand("bash", ["-c", pieces], { cwd: root });
    expect([code, stdout]).toEqual([0, '{"ok":true,"result":"2\\ttwo"}\n']);
    const none = await runCommand("bash", ["-c", `'${process.execPath}' '${ginBin}' tool --host '${host}' < /dev/null`]);
    expect([none.code, JSON.parse(none.stdout).error_code]).toEqual([1, "invalid_json"]);
  });

  test("bytes that are not UTF-8 are refused", async () => {
    expect((await sent(Buffer.from('{"tool":"\xff"}', "latin1"))).envelope).toMatchObject({
      ok: false,
      error_code: "invalid_json",
    });
  });

  test("a refused request's id is echoed where it can be read", async () => {
    for (const input of [
      '{"request_id":"r-9","tool":7}',
      '{"request_id":"r-9","tool":"x","more":1}',
      '{"request_id":"r-9","tool":"list_tools","args":{"a":1,"a":2}}',
      '{"request_id":"r-9","tool":"no_such_tool"}',
    ]) {
      expect((await sent(input)).envelope).toMatchObject({ ok: false, request_id: "r-9" });
    }
  });

  test("nothing beside the object is lost: 64 levels are taken, 65 are not", async () => {
    const nested = (depth: number): string =>
      `{"tool":"list_tools","args":{"a":${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}}}`;
    expect((await sent(nested(64))).envelope.error).toContain("args/a: is no argument");
    expect((await sent(nested(65))).envelope.error).toContain("nested deeper than 64");
  });

  test("16 MiB are taken, one byte more is refused before the rest is read", async () => {
    const most = 16 * 1024 * 1024;
    const of = (length: number): string => {
      const [head, tail] = ['{"tool":"read_file","args":{"path":"', '"}}'];
      return head + "x".repeat(length - head.length - tail.length) + tail;
    };
    expect((await sent(of(most + 1))).envelope).toMatchObject({ ok: false, error_code: "resource_limit" });
    // The path is what is too long, or the message with what the api wraps around it: read it was.
    const { envelope } = await sent(of(most - 1_024));
    expect(envelope).toMatchObject({ ok: false, error_code: "invalid_args" });
  });

  test("any bytes are answered with an envelope that has a code, and never run anything", async () => {
    const seed = Date.now();
    console.info(`gin tool fuzz: seed ${seed}`);
    const valid = '{"tool":"list_dir","args":{"path":".","depth":1},"compress":false,"request_id":"f"}';
    const damaged = fc
      .tuple(fc.nat(valid.length), fc.nat(6), fc.string({ unit: "binary", maxLength: 4 }))
      .map(([at, cut, put]) => {
        return valid.slice(0, at) + whole(put) + valid.slice(at + cut);
      });
    const any = fc.oneof(
      damaged,
      fc.json(),
      fc.json().map((args) => `{"tool":"read_file","args":${args}}`),
      fc
        .dictionary(fc.constantFrom("tool", "args", "compress", "request_id", "client", "x"), fc.jsonValue())
        .map((value) => JSON.stringify(value)),
      fc.string({ unit: "binary" }).map(whole),
    );
    await fc.assert(
      fc.asyncProperty(any, async (input) => {
        const { code, envelope } = await sent(input);
        expect(code).toBe(envelope.ok ? 0 : 1);
        if (!envelope.ok) expect(envelope.error_code).toMatch(/^[a-z_]+$/);
      }),
      { numRuns: Math.ceil(300 * SCALE), seed },
    );
  });
});

test("--schema needs no workspace, which a call of a tool does", async () => {
  const { host } = onDemand();
  const schema = await runGin(["tool", "--schema"], { host, cwd: host });
  expect([schema.code, JSON.parse(schema.stdout)[0].function.name]).toEqual([0, "read_file"]);
  const call = await runGin(["tool", "list_tools"], { host, cwd: host });
  expect([call.code, JSON.parse(call.stdout).error_code]).toEqual([1, "workspace_not_found"]);
});

test("without a daemon the envelope says so, with status 3", async () => {
  const { host } = tempHost();
  const { code, stdout, stderr } = await runGin(["tool", "list_tools", "--no-spawn"], { host });
  expect([code, stderr]).toEqual([3, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error_code: "not_sent" });
});

test("a lost answer leaves the outcome of a change unknown, with status 4, and of a read not, with status 3", async () => {
  const daemon = await fakeDaemon(() => "break");
  const endpoint = ["tool", "--endpoint", `unix:${daemon.socketPath}`];
  for (const [input, status, code] of [
    ['{"tool":"write_file","args":{"path":"a","content":"x","if_absent":true},"request_id":"lost-1"}', 4, "outcome_unknown"],
    ['{"tool":"undo","args":{"action":"restore","id":"x"},"request_id":"lost-2"}', 4, "outcome_unknown"],
    ['{"tool":"edit_file","args":{"path":"a","old_text":"x","new_text":"y","dry_run":true}}', 3, "not_sent"],
    ['{"tool":"read_file","args":{"path":"a"}}', 3, "not_sent"],
  ] as const) {
    const driven = await drive(endpoint, { input });
    expect([driven.status, driven.stderr]).toEqual([status, ""]);
    const envelope = JSON.parse(driven.stdout);
    expect(envelope).toMatchObject({ ok: false, error_code: code });
    if (status === 4)
      expect(envelope.suggestion).toContain(`gin outcome ${envelope.request_id} --endpoint unix:${daemon.socketPath} tells`);
  }
  const asked = await drive([...endpoint, "write_file", "--json", '{"path":"a","content":"x","if_absent":true}']);
  expect(JSON.parse(asked.stdout).request_id).toMatch(/^rq_/);
});

test("a refusal of the transport is an envelope too", async () => {
  const detail = { reason: "BUSY", message: "the daemon is draining", suggestion: "retry the identical request" };
  const body = { code: "unavailable", message: "x", details: [{ type: "gin.v1.ErrorDetail", value: "", debug: detail }] };
  const daemon = await fakeDaemon(() => ({ json: body, status: 503 }));
  const driven = await drive(["tool", "--endpoint", `unix:${daemon.socketPath}`, "list_tools"]);
  expect([driven.status, JSON.parse(driven.stdout)]).toEqual([
    1,
    { ok: false, error: detail.message, error_code: "busy", suggestion: detail.suggestion },
  ]);
});

test.each([
  ["a root and a workspace", ["--root", "/r", "--workspace", "w"], {}, 2, "name one workspace twice"],
  ["a token file that is not there", ["--endpoint", "http://127.0.0.1:1", "--token-file", "/nowhere/t"], {}, 2, "/nowhere/t"],
  ["a host whose socket has too long a path", ["--host", `/tmp/${"h".repeat(4_000)}`], { XDG_RUNTIME_DIR: "" }, 3, ""],
])("%s is told in an envelope too", async (_, flags, env, status, said) => {
  const driven = await drive(["tool", ...flags, "list_dir"], { env });
  expect([driven.status, driven.stderr]).toEqual([status, ""]);
  const envelope = JSON.parse(driven.stdout);
  expect(envelope).toMatchObject({ ok: false, error_code: "not_sent", suggestion: expect.stringMatching(/./) });
  expect(envelope.error).toContain(said);
});

test("wrong flags are told on standard error, with status 2", async () => {
  const { host } = tempHost();
  for (const args of [["--frob"], ["--json", "{}"], ["a", "b"], ["read_file", "--schema"]]) {
    const { code, stdout, stderr } = await runGin(["tool", ...args], { host });
    expect([code, stdout, stderr !== ""]).toEqual([2, "", true]);
  }
});
