import { existsSync, readFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { locateHost } from "../../../src/paths/index.ts";
import { tempHost } from "../../helpers/temp.ts";
import { post, run, runtime, type Started } from "./daemon-process.ts";

/** A Save of which only the head and half of the body were sent: the daemon has admitted it and waits. */
async function halfASave(socket: string, text: string): Promise<{ finish(): Promise<IncomingMessage>; request: ClientRequest }> {
  const body = Buffer.from(JSON.stringify({ request_id: "half", edits: [{ path: "a.txt", expect: "absent", text }] }));
  const sent = request({
    socketPath: socket,
    method: "POST",
    path: "/gin.v1.GinService/Save",
    agent: false,
    headers: { "content-type": "application/json", "content-length": body.length },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve);
    sent.once("error", reject);
  });
  answered.catch(() => {});
  sent.write(body.subarray(0, 10));
  await running(socket);
  return {
    request: sent,
    finish: async () => {
      sent.end(body.subarray(10));
      const response = await answered;
      response.resume();
      return response;
    },
  };
}

/** Resolves once the daemon counts a request beside the one that asks. */
async function running(socket: string): Promise<void> {
  for (;;) {
    const { body } = await post({ socket }, "AdminService/Status", {});
    if (Number(body.connections) >= 2) return;
  }
}

async function logged(started: Started, text: string): Promise<void> {
  while (!started.stderr().includes(text)) await new Promise((resolve) => started.child.stderr.once("data", resolve));
}

describe("the end of a daemon", () => {
  it("lets a running request finish, refuses new ones, and leaves neither socket nor metadata", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const started = run({ host, roots: [root] }, { env });
    const { socket } = await started.ready;
    const half = await halfASave(socket, "written during the drain\n");
    started.child.kill("SIGTERM");
    await logged(started, '"msg":"draining"');
    await expect(post({ socket }, "GinService/Capabilities", {})).rejects.toThrow();
    const response = await half.finish();
    expect(response.statusCode).toBe(200);
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("written during the drain\n");
    expect([existsSync(socket), existsSync(locateHost({ host }, env).metadata)]).toEqual([false, false]);
  });

  it("comes at once with the second signal", async () => {
    const { root, host } = tempHost();
    const started = run({ host, roots: [root] }, { env: runtime() });
    const { socket } = await started.ready;
    const half = await halfASave(socket, "never\n");
    half.request.on("error", () => {});
    started.child.kill("SIGINT");
    await logged(started, '"msg":"draining"');
    started.child.kill("SIGINT");
    expect(await started.ended).toEqual({ code: 1, signal: null });
  });

  it("comes by itself for one started on demand and unused, not while a lease is held", async () => {
    const { root, host } = tempHost();
    const env = runtime();
    const started = run({ host, mode: "on_demand", roots: [root], settings: { idle_ms: 1_000 } }, { env });
    const { socket, endpoint, token_file } = await started.ready;
    expect([endpoint, token_file]).toEqual(["", ""]);
    const lease = await post({ socket }, "GinService/AcquireLease", { request_id: "l-1", ttl_ms: 5_000 });
    expect(lease.status).toBe(200);
    const begun = performance.now();
    expect(await started.ended).toEqual({ code: 0, signal: null });
    // The lease's whole life comes before the idle time.
    expect(performance.now() - begun).toBeGreaterThan(5_000);
    expect(started.stderr()).toBe("");
  });

  it.each(["foreground", "on_demand"] as const)("is asked for by Shutdown, which is answered first (%s)", async (mode) => {
    const { root, host } = tempHost();
    const env = runtime();
    const started = run({ host, mode, roots: [root] }, { env });
    const { socket } = await started.ready;
    const answer = await post({ socket }, "AdminService/Shutdown", { request_id: "r-1" });
    expect(answer.body).toMatchObject({ pid: String(started.child.pid) });
    expect(await started.ended).toEqual({ code: 0, signal: null });
    // To the very end, not just until nothing kept the process alive.
    const paths = locateHost({ host }, env);
    expect(readFileSync(paths.log, "utf8").trimEnd().split("\n").at(-1)).toContain('"msg":"ended"');
    expect([existsSync(socket), existsSync(paths.metadata)]).toEqual([false, false]);
  });
});
