import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { beforeAll, describe, expect, it } from "vitest";
import { tempDir } from "../helpers/temp.ts";
import { startBridge } from "./bridge.ts";
import { startRelay } from "./relay.ts";
import { type Site, startSite } from "./setup.ts";

let site: Site;
beforeAll(async () => {
  site = await startSite();
});

const read = { id: 1, method: "tools/call", params: { name: "gin_read", arguments: { path: "a.txt" } } };

describe("standard output hung up while standard input stays open", () => {
  it("a socket pair: running reads are cancelled at once and the process ends", async () => {
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint], { channel: "socketpair" });
    await bridge.initialize();
    relay.hold();
    bridge.send(read);
    await relay.arrived("read_path");
    const cancelled = relay.closedByBridge();
    bridge.output.destroy();
    await cancelled;
    expect(await bridge.end).toEqual({ code: 0, signal: null });
  });

  it("a pipe: the same, where koffi can poll it", async (context) => {
    try {
      createRequire(import.meta.url)("koffi");
    } catch {
      context.skip("koffi, an optional package, is not installed: only the next write finds out");
    }
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint], { channel: "pipe" });
    await bridge.initialize();
    relay.hold();
    bridge.send(read);
    await relay.arrived("read_path");
    const cancelled = relay.closedByBridge();
    bridge.output.destroy();
    await cancelled;
    expect(await bridge.end).toEqual({ code: 0, signal: null });
  });

  it("a pipe with nothing running: the next answer finds it out", async () => {
    const bridge = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`], { channel: "pipe" });
    await bridge.initialize();
    bridge.output.destroy();
    bridge.send({ id: 2, method: "ping" });
    bridge.send({ id: 3, method: "ping" });
    expect(await bridge.end).toEqual({ code: 0, signal: null });
  });

  it("a save that was sent still finishes before the process ends", async () => {
    const relay = await startRelay(site.daemon.ready.socket);
    const bridge = startBridge(["--endpoint", relay.endpoint]);
    await bridge.initialize("2025-11-25", "leaver");
    relay.hold();
    const args = { edits: [{ path: "left.txt", expect: "absent", text: "x" }], request_id: "left" };
    bridge.send({ id: 1, method: "tools/call", params: { name: "gin_save", arguments: args } });
    await relay.arrived('"save"');
    bridge.output.destroy();
    bridge.input.end();
    expect(bridge.child.exitCode).toBeNull();
    relay.release();
    expect(await bridge.end).toEqual({ code: 0, signal: null });
    const after = startBridge(["--endpoint", `unix:${site.daemon.ready.socket}`, "--principal", "mcp-leaver"]);
    await after.initialize();
    const outcome = await after.tool("gin_call", { request: { request_outcome: { target_request_id: "left" } } });
    expect(outcome.json).toMatchObject({ request_outcome: { outcome: "OUTCOME_COMMITTED" } });
  });
});

it("a host that shuts down its own unused direction of the socket pair is not taken for gone", (context) => {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
  } catch {
    context.skip("python3 is not installed: Node cannot half-close a socket pair before its child starts");
  }
  // Some runtimes do this to every child: only an empty write tells it from a reader that left.
  const host = `
import json, socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.shutdown(socket.SHUT_WR)
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=theirs.fileno())
theirs.close()
def say(message): child.stdin.write((json.dumps(message) + "\\n").encode()); child.stdin.flush()
answers = ours.makefile("r")
say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "half", "version": "1"}}})
answers.readline()
for id in range(3):
    say({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "gin_read", "arguments": {"path": "a.txt"}}})
    print(json.loads(json.loads(answers.readline())["result"]["content"][0]["text"])["text"], end="")
child.stdin.close()
print(child.wait())
`;
  const command = [process.execPath, bin(), "mcp", "--endpoint", `unix:${site.daemon.ready.socket}`];
  expect(execFileSync("python3", ["-c", host, ...command], { cwd: tempDir("cwd"), encoding: "utf8" })).toBe(
    `${"hello\n".repeat(3)}0\n`,
  );
});

function bin(): string {
  return createRequire(import.meta.url).resolve("../../bin/gin");
}
