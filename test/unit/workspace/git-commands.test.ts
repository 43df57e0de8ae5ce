import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { nodeCommands } from "../../../src/daemon/base/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const node = (script: string, more: object = {}) => ({
  file: process.execPath,
  args: ["-e", script],
  cwd: tempDir("command"),
  env: {},
  ...more,
});

test("status, output, input and exactly the environment that was given", async () => {
  const done = await nodeCommands.run(
    node(
      'process.stdin.on("data", (b) => process.stdout.write(b)).on("end", () => { console.error(Object.keys(process.env).join()); process.exitCode = 7; })',
      {
        env: { ONLY: "1" },
        input: Buffer.from([0, 255, 10]),
      },
    ),
  );
  expect(done).toEqual({ status: 7, stdout: Buffer.from([0, 255, 10]), stderr: "ONLY\n" });
  expect((await nodeCommands.run(node('process.kill(process.pid, "SIGTERM")'))).status).toBe(128 + 15);
});

test("too long, too much, cancelled, not installed: each a refusal, and the whole process group is gone", async () => {
  const cwd = tempDir("command");
  const script = `require("child_process").spawn(process.execPath, ["-e", "setTimeout(() => require('fs').writeFileSync('late', ''), 3000)"], { stdio: "inherit" }); setInterval(() => {}, 1000)`;
  await expect(nodeCommands.run(node(script, { cwd, timeoutMs: 500 }))).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  await expect(
    nodeCommands.run(node('setInterval(() => process.stdout.write("x".repeat(1000)), 1)', { maxBytes: 10_000 })),
  ).rejects.toMatchObject({
    reason: "TOO_LARGE",
  });
  const stop = new AbortController();
  const running = nodeCommands.run(node("setInterval(() => {}, 1000)", { signal: stop.signal }));
  stop.abort();
  await expect(running).rejects.toMatchObject({ reason: "CANCELLED" });
  await expect(nodeCommands.run({ file: "gin-no-such-program", args: [], cwd, env: {} })).rejects.toMatchObject({
    reason: "UNSUPPORTED",
  });
  expect(existsSync(join(cwd, "late"))).toBe(false);
});

test("a program that is talked to answers, says how it ended, and is ended by close", async () => {
  const open = nodeCommands.open(node('process.stdin.on("data", (b) => process.stdout.write(b.toString().toUpperCase()))'));
  let said = "";
  open.onOutput((bytes) => {
    said += bytes;
  });
  open.write(Buffer.from("hello"));
  await vi.waitFor(() => expect(said).toBe("HELLO"), { timeout: 10_000 });
  await open.close();
  expect((await open.ended).status).toBe(128 + 9);
  expect(await nodeCommands.open(node('console.error("why"); process.exitCode = 3')).ended).toEqual({
    status: 3,
    reason: "why\n",
  });
  expect((await nodeCommands.open({ ...node(""), file: "gin-no-such-program" }).ended).status).toBe(127);
});
