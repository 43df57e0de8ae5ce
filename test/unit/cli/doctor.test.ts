import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { STORE_VERSION } from "../../../src/clients/cli/checks.ts";
import { SCHEMA_VERSION } from "../../../src/daemon/store/schema.ts";
import { loadSqlite } from "../../../src/daemon/store/sqlite.ts";
import { tempHost } from "../../helpers/temp.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

/** What doctor finds under a name. */
async function found(name: string, argv: string[], env = {}): Promise<unknown> {
  const { stdout } = await drive(["doctor", "--json", ...argv], { env });
  return JSON.parse(stdout).checks.find((check: { name: string }) => check.name === name);
}

/** The check of a workspace whose daemon tells it so. */
async function workspace(mode: string, info: object): Promise<unknown> {
  const workspaces = [{ id: "ws_1", name: "w", root: "/some/where", ...info }];
  const daemon = await fakeDaemon(() => ({ json: { version: "0.1.0", pid: "7", mode, workspaces } }));
  return found("workspace w", ["--endpoint", `unix:${daemon.socketPath}`], { GIN_HOST: tempHost().host });
}

test("a store of a newer version is told as STORE_TOO_NEW with both versions, one of this version is sound", async () => {
  expect(STORE_VERSION).toBe(SCHEMA_VERSION);
  const { host } = tempHost();
  mkdirSync(join(host, "data"), { mode: 0o700 });
  const store = loadSqlite().open(join(host, "data", "store.db"));
  try {
    store.pragma(`user_version = ${SCHEMA_VERSION}`);
    expect(await found("store", [], { GIN_HOST: host })).toMatchObject({ state: "ok" });
    store.pragma(`user_version = ${SCHEMA_VERSION + 41}`);
  } finally {
    store.close();
  }
  expect(await found("store", [], { GIN_HOST: host })).toEqual({
    name: "store",
    state: "wrong",
    text: `STORE_TOO_NEW: the store has version ${SCHEMA_VERSION + 41}; this gin knows versions up to ${SCHEMA_VERSION}`,
    mend: "use the gin that wrote it, or a newer one",
  });
});

test("a stopped workspace is mended by restarting its daemon, a missing one by opening the directory that came back", async () => {
  const stopped = { status: "stopped", status_note: "a file could not be synced" };
  expect(await workspace("foreground", stopped)).toMatchObject({
    state: "wrong",
    text: "stopped: a file could not be synced",
    mend: "gin stop, then gin serve /some/where",
  });
  expect(await workspace("on_demand", stopped)).toMatchObject({ mend: "gin stop, then gin start" });
  expect(await workspace("on_demand", { status: "missing", status_note: "the directory is gone" })).toMatchObject({
    state: "wrong",
    mend: "gin workspace open /some/where once the directory is back, or gin workspace remove ws_1",
  });
});
