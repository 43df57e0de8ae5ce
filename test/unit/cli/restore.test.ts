import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../../src/daemon/store/index.ts";
import { isBuilt } from "../../helpers/gin.ts";
import { tempDir } from "../../helpers/temp.ts";
import { Line } from "../store/line.ts";
import { drive } from "./drive.ts";

/** A backup with one workspace. */
async function backup(): Promise<string> {
  const directory = join(tempDir("restore"), "backup");
  const store = await openStore({ directory: join(directory, "..", "data"), inline: true });
  const line = await Line.make(store);
  await line.save({ a: "one" });
  await store.write("backup", { directory });
  await store.close();
  return directory;
}

function host(): string {
  const directory = join(tempDir("restore-host"), "h");
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}

describe("restore", () => {
  test("says what it did, and refuses a store with workspaces unless it may move it aside", { timeout: 60_000 }, async (ctx) => {
    if (!isBuilt("daemon")) return ctx.skip("the daemon's program is not built: npm run build");
    const from = await backup();
    const to = host();
    const first = await drive(["restore", from, "--host", to]);
    expect([first.status, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toMatch(
      /^[\d.]+ KiB restored into .*\/h\/data\nworkspace +name +gen +root\nws_1 +name of ws_1 +1 +\/srv\/ws_1\n/,
    );
    expect(first.stdout).toContain("new incarnations");
    const again = await drive(["restore", from, "--host", to]);
    expect(again.status).toBe(1);
    expect(again.stderr).toContain("INVALID_REQUEST: this host's store has workspaces already\n  --replace moves it aside");
    const replaced = await drive(["restore", from, "--host", to, "--replace", "--json"]);
    expect(JSON.parse(replaced.stdout)).toMatchObject({ restored: true, workspaces: [{ id: "ws_1", generation: 1 }] });
    expect(JSON.parse(replaced.stdout).moved_aside).toContain("/data/replaced-");
  });

  test("tells an engine's refusal as any other command does", { timeout: 60_000 }, async (ctx) => {
    if (!isBuilt("daemon")) return ctx.skip("the daemon's program is not built: npm run build");
    const { status, stdout } = await drive(["restore", tempDir("nothing"), "--host", host(), "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { reason: "INVALID_REQUEST" } });
    expect((await drive(["restore"])).status).toBe(2);
  });
});
