import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

const ANSWER = {
  quota_bytes: "2147483648",
  before_bytes: "3145728",
  after_bytes: "1048576",
  before_history_bytes: "2621440",
  after_history_bytes: "524288",
  unreachable_objects: "3",
  thinned_objects: "40",
  removed_checkpoints: "7",
  dry_run: false,
  replayed: false,
  request_id: "g-1",
};

/** Runs a command line against a daemon that gives one answer; what was sent with it. */
async function against(answer: JsonObject, argv: string[]) {
  const daemon = await fakeDaemon(() => ({ json: answer }));
  const driven = await drive([...argv, "--endpoint", `unix:${daemon.socketPath}`]);
  const [sent] = daemon.seen.map(({ path, json }) => ({ method: path.split("/").at(-1), json }));
  return { ...driven, sent };
}

describe("gc", () => {
  test("shows history and store before and after, and what went", async () => {
    const { stdout, sent, status } = await against(ANSWER, ["gc", "--target", "500k", "--request-id", "g-1"]);
    expect([status, sent]).toEqual([0, { method: "CollectGarbage", json: { target_bytes: "512000", request_id: "g-1" } }]);
    expect(stdout).toBe(
      [
        "history        2.5 MiB → 512.0 KiB (quota 2.0 GiB)",
        "store          3.0 MiB → 1.0 MiB",
        "nothing named  3 contents",
        "given up       40 contents of old checkpoints",
        "left the log   7 checkpoints",
        "",
      ].join("\n"),
    );
  });

  test("a dry run says would be, and --json prints the message", async () => {
    const dry = await against({ ...ANSWER, dry_run: true }, ["gc", "--dry-run"]);
    expect(dry.sent?.json).toMatchObject({ dry_run: true });
    expect(dry.stdout).toContain("history        2.5 MiB → would be 512.0 KiB (quota 2.0 GiB)\n");
    expect(JSON.parse((await against(ANSWER, ["gc", "--json"])).stdout)).toEqual(ANSWER);
  });

  test.each([
    ["2g", "2147483648"],
    ["100MiB", "104857600"],
    ["0", "0"],
    ["12345", "12345"],
  ])("--target %s is %s bytes", async (given, bytes) => {
    expect((await against(ANSWER, ["gc", "--target", given])).sent?.json).toMatchObject({ target_bytes: bytes });
  });

  test.each(["", "much", "-1", "1.5g", "9999999t"])("--target %j is wrong usage, and nothing is sent", async (given) => {
    const { status, stderr, sent } = await against(ANSWER, ["gc", `--target=${given}`]);
    expect([status, sent]).toEqual([2, undefined]);
    expect(stderr).toContain("--target takes a size");
  });
});

test("workspace relink names the directory whole", async () => {
  const info = { id: "ws_1", name: "w", repository_name: "r", root: "/r", status: "active", state: { generation: "3" } };
  const { stdout, sent } = await against({ info }, ["workspace", "relink", "w", "some/where", "--request-id", "m-1"]);
  expect(sent).toEqual({
    method: "Relink",
    json: { workspace: "w", directory: resolve("some/where"), request_id: "m-1" },
  });
  expect(stdout).toContain("ws_1");
  expect((await against({ info }, ["workspace", "relink", "w"])).status).toBe(2);
});
