import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { ginBin, runGin } from "../../helpers/gin.ts";
import { ended, spawnOwned } from "../../helpers/process.ts";
import { tempHost } from "../../helpers/temp.ts";
import { post, run, runtime } from "../daemon/daemon-process.ts";

/** `gin watch` as a process: its lines as they come. */
function ginWatch(host: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawnOwned(process.execPath, [ginBin, "watch", ...args], { env: { ...env, GIN_HOST: host } });
  child.stdin.end();
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const end = ended(child);
  return {
    child,
    end,
    stderr: () => stderr,
    next: async (): Promise<JsonObject> => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`gin watch ended: ${stderr}`);
      return JSON.parse(value) as JsonObject;
    },
  };
}

async function save(socket: string, path: string): Promise<string> {
  const edits = [{ path, expect: "absent", text: path }];
  const { body, reason } = await post({ socket }, "GinService/Save", { request_id: `save-${path}`, edits });
  expect(reason).toBe("");
  return String(body.checkpoint);
}

it("gin watch goes on over a killed daemon without a gap or a duplicate, starts none itself, and ends well on Ctrl-C", async () => {
  const { root, host } = tempHost();
  const env = runtime();
  const start = () => run({ host, roots: [root] }, { env });
  const first = start();
  const { socket } = await first.ready;
  const watch = ginWatch(host, ["--json", "--kind", "checkpoint"], env);
  expect(await watch.next()).toHaveProperty("ready");
  const ids = [await save(socket, "a")];
  expect(((await watch.next()).checkpoint as JsonObject).id).toBe(ids[0]);
  first.child.kill("SIGKILL");
  await first.ended;
  await expect.poll(() => watch.stderr()).toContain("waiting for it to come back");
  const absent = await runGin(["status"], { host, env });
  expect(absent.code).toBe(3);
  const second = start();
  expect((await second.ready).socket).toBe(socket);
  ids.push(await save(socket, "b"), await save(socket, "c"));
  const seen: string[] = [];
  let cursor = "";
  while (seen.length < 2) {
    const message = await watch.next();
    cursor = String(message.cursor);
    if (message.checkpoint !== undefined) seen.push(String((message.checkpoint as JsonObject).id));
  }
  expect(seen).toEqual(ids.slice(1));
  watch.child.kill("SIGINT");
  expect(await watch.end).toEqual({ code: 0, signal: null });

  // The cursor of any line goes on there.
  const id = await save(socket, "d");
  const again = ginWatch(host, ["--json", "--kind", "checkpoint", "--since", cursor], env);
  expect(((await again.next()).checkpoint as JsonObject).id).toBe(id);
  again.child.kill("SIGTERM");
  expect((await again.end).code).toBe(0);
  second.child.kill("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
});

it("gin watch says why it ends when its workspace is closed", async () => {
  const { root, host } = tempHost();
  const env = runtime();
  const daemon = run({ host, roots: [root] }, { env });
  const { socket, workspace } = await daemon.ready;
  const watch = ginWatch(host, ["--json"], env);
  expect(await watch.next()).toHaveProperty("ready");
  const began = performance.now();
  expect((await post({ socket }, "AdminService/CloseWorkspace", { request_id: "close", workspace })).reason).toBe("");
  const message = await watch.next();
  expect((message.error as JsonObject).reason).toBe("WORKSPACE_NOT_FOUND");
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(await watch.end).toEqual({ code: 1, signal: null });
});

it("gin watch starts the daemon that its first attempt does not find, and opens its root", async () => {
  const { root, host } = tempHost();
  const env = runtime();
  const watch = ginWatch(host, ["--json", "--root", root], env);
  expect(await watch.next()).toHaveProperty("ready");
  const saved = await runGin(["save", "a.txt", "--from", "-", "--expect", "absent", "--root", root], { host, env, input: "a\n" });
  expect(saved.code).toBe(0);
  expect(await watch.next()).toMatchObject({ checkpoint: { cause: "CAUSE_SAVE", paths: [{ path: "a.txt" }] } });
  watch.child.kill("SIGINT");
  expect((await watch.end).code).toBe(0);
  expect((await runGin(["stop"], { host, env })).code).toBe(0);
});
