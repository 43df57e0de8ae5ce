import { expect, it } from "vitest";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

it("gin workspace open --wait asks until the import has ended, and says on standard error how far it is", async () => {
  const info = { id: "ws_1", name: "w", repository_name: "w", root: "/r", status: "active", state: { generation: "0" } };
  let asked = 0;
  const daemon = await fakeDaemon(({ path }) => {
    if (!path.endsWith("/Call")) return { json: { info } };
    const done = ++asked > 5;
    const progress = {
      done,
      files: String(asked * 100),
      bytes: "2048",
      directories_left: done ? "0" : "7",
      unreadable: "0",
      note: "",
    };
    return { json: { context: { import: progress } } };
  });
  const { status, stdout, stderr } = await drive([
    "workspace",
    "open",
    "/r",
    "--wait",
    "--endpoint",
    `unix:${daemon.socketPath}`,
  ]);
  expect([status, asked]).toEqual([0, 6]);
  expect(stdout).toContain("ws_1");
  expect(stderr).toBe("importing: 400 files, 2.0 KiB, 7 directories left\n");
});
