import { expect, test } from "vitest";
import { nodeCommands, type OpenCommand } from "../../../src/daemon/base/index.ts";
import { processState } from "../../helpers/lsp/session.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

function open(script: string, more: object = {}): OpenCommand {
  const command = { file: process.execPath, args: ["-e", script], cwd: tempDir("command"), env: {}, ...more };
  const process_ = nodeCommands.open(command);
  atTeardown(() => process_.close());
  return process_;
}

test.for([false, true])("pieces of both outputs, its input's end, its status (bound to us: %s)", async (endsWithUs) => {
  const program = open(
    'console.error("began"); process.stdin.on("data", (b) => process.stdout.write(b)).on("end", () => { process.exitCode = 7; })',
    { endsWithUs },
  );
  const said: string[] = [];
  program.onOutput((bytes) => said.push(`out ${bytes}`));
  program.onErrors((bytes) => said.push(`err ${bytes}`));
  await expect.poll(() => said).toEqual(["err began\n"]);
  expect(await program.send(Buffer.from("x"))).toBe(true);
  await expect.poll(() => said).toEqual(["err began\n", "out x"]);
  program.end();
  expect(await program.ended).toEqual({ status: 7, reason: "began\n" });
  expect(await program.send(Buffer.from("y"))).toBe(false);
});

test.runIf(process.platform === "linux")(
  "paused, a program that says much has to wait; resumed, nothing of it is lost",
  async () => {
    const program = open('const b = Buffer.alloc(65536); for (let n = 0; n < 320; n += 1) require("fs").writeSync(1, b); ');
    let bytes = 0;
    const paused = new Promise<void>((resolve) => {
      program.onOutput((piece) => {
        if (bytes === 0) {
          program.pause();
          resolve();
        }
        bytes += piece.byteLength;
      });
    });
    await paused;
    const before = bytes;
    // It only writes: asleep, it waits for us.
    await expect.poll(() => processState(program.pid as number)).toBe("S");
    expect(bytes).toBe(before);
    expect(before).toBeLessThan(1024 * 1024);
    program.resume();
    expect((await program.ended).status).toBe(0);
    expect(bytes).toBe(320 * 65_536);
  },
);

test("asked to end, it may take its time; ended at once, it may not; one that cannot be started says so", async () => {
  const script =
    'process.on("SIGTERM", () => { console.error("asked"); process.exit(3); }); setInterval(() => {}, 1e6); console.error("up")';
  const asked = open(script);
  const up = new Promise<void>((resolve) => asked.onErrors(() => resolve()));
  await up;
  asked.terminate();
  expect(await asked.ended).toEqual({ status: 3, reason: "up\nasked\n" });
  const killed = open(script);
  await killed.close();
  expect((await killed.ended).status).toBe(137);
  const missing = open("", { file: "/nowhere/at-all" });
  expect([missing.pid, (await missing.ended).status]).toEqual([undefined, 127]);
  expect(await missing.send(Buffer.from("x"))).toBe(false);
});
