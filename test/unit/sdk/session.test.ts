import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type JsonObject, NotSentError, openSession } from "../../../src/clients/sdk/index.ts";
import { type DaemonMetadata, locateHost, writeMetadata } from "../../../src/paths/index.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { fakeDaemon, type Seen } from "./fake-daemon.ts";

function info(id: string, root: string): JsonObject {
  return { id, repository: "rp_1", root, status: "active" };
}

function methods(seen: readonly Seen[]): string[] {
  return seen.map(({ path, json }) => (path.endsWith("/Call") ? (Object.keys(json)[0] ?? "") : (path.split("/").at(-1) ?? "")));
}

function publish(host: string, daemon: Partial<DaemonMetadata> & { socket: string }): void {
  const metadata = {
    pid: 1,
    process_start: "",
    started_ms: 0,
    version: "0.1.0",
    protocol: 1,
    endpoint: "",
    mode: "on_demand" as const,
  };
  writeMetadata(locateHost({ host }).metadata, { ...metadata, ...daemon });
}

test("calls carry the repository and workspace of the session, unless they name one themselves", async () => {
  const daemon = await fakeDaemon(() => ({ json: { read_path: {} } }));
  const session = openSession({ endpoint: `unix:${daemon.socketPath}`, repository: "r", workspace: "w" });
  await session.run("read_path", { path: "a" });
  await session.run("read_path", { path: "a", workspace: "other" });
  await session.call({ read_path: { path: "a" } });
  expect(daemon.seen.map(({ json }) => json.read_path)).toEqual([
    { path: "a", repository: "r", workspace: "w" },
    { path: "a", workspace: "other" },
    { path: "a", repository: "r", workspace: "w" },
  ]);
  session.close();
});

test("a root that is served, or lies inside one that is, is not opened again", async () => {
  const root = tempDir("root");
  mkdirSync(join(root, "sub"));
  const daemon = await fakeDaemon(({ path }) => ({
    json: path.endsWith("ListWorkspaces") ? { workspaces: [info("ws_1", root)] } : { read_path: {} },
  }));
  for (const asked of [root, join(root, "sub")]) {
    const session = openSession({ endpoint: `unix:${daemon.socketPath}`, root: asked });
    await session.run("read_path", { path: "a" });
    await session.run("read_path", { path: "b" });
    session.close();
  }
  expect(methods(daemon.seen)).toEqual(["ListWorkspaces", "read_path", "read_path", "ListWorkspaces", "read_path", "read_path"]);
  expect(daemon.seen[1]?.json.read_path).toEqual({ path: "a", repository: "rp_1", workspace: "ws_1" });
});

test("another root is opened once, under its real path; a neighbour with a like name does not enclose it", async () => {
  const dir = tempDir("root");
  mkdirSync(join(dir, "a"));
  mkdirSync(join(dir, "ab"));
  const daemon = await fakeDaemon(({ path, json }) => {
    if (path.endsWith("ListWorkspaces")) return { json: { workspaces: [info("ws_a", join(dir, "a"))] } };
    return { json: path.endsWith("OpenWorkspace") ? { info: info("ws_ab", String(json.root)) } : { read_path: {} } };
  });
  const session = openSession({ endpoint: `unix:${daemon.socketPath}`, root: join(dir, "a", "..", "ab") });
  await Promise.all([session.run("read_path", { path: "x" }), session.run("read_path", { path: "y" })]);
  expect(methods(daemon.seen).filter((name) => name !== "read_path")).toEqual(["ListWorkspaces", "OpenWorkspace"]);
  expect(daemon.seen[1]?.json).toMatchObject({ root: join(dir, "ab") });
  expect(daemon.seen[2]?.json.read_path).toMatchObject({ workspace: "ws_ab" });
  session.close();
});

test("a refused root is tried again by the next call", async () => {
  let tries = 0;
  const root = tempDir("root");
  const daemon = await fakeDaemon(() =>
    ++tries === 1 ? "break" : { json: { workspaces: [info("ws_1", root)], read_path: {} } },
  );
  const session = openSession({ endpoint: `unix:${daemon.socketPath}`, root });
  await expect(session.run("read_path")).rejects.toBeInstanceOf(NotSentError);
  await session.run("read_path");
  session.close();
});

test("without a daemon and with --no-spawn nothing is sent and nothing is started", async () => {
  const { host } = tempHost();
  const session = openSession({ host, noSpawn: true });
  await expect(session.run("read_path")).rejects.toMatchObject({ name: "NotSentError", sent: false });
});

test("the socket that the daemon published is used, and a newer one is told of once", async () => {
  const { host } = tempHost();
  const daemon = await fakeDaemon(() => ({ json: { read_path: {} } }), { server: "gin/9.1.0" });
  publish(host, { socket: daemon.socketPath, version: "9.1.0" });
  const notices: string[] = [];
  const session = openSession({ host, onNotice: (text) => notices.push(text) });
  await session.run("read_path");
  await session.run("read_path");
  expect(notices).toEqual(["the daemon is gin 9.1.0, newer than this client (0.1.0)"]);
  session.close();
});

test("an older daemon is only told of when it must not be replaced: --no-spawn, in the foreground, or at an endpoint", async () => {
  const { host } = tempHost();
  const daemon = await fakeDaemon(() => ({ json: { read_path: {} } }), { server: "gin/0.0.9" });
  const notices: string[] = [];
  const onNotice = (text: string): number => notices.push(text);
  publish(host, { socket: daemon.socketPath, version: "0.0.9" });
  await openSession({ host, noSpawn: true, onNotice }).run("read_path");
  publish(host, { socket: daemon.socketPath, version: "0.0.9", mode: "foreground" });
  await openSession({ host, onNotice }).run("read_path");
  await openSession({ endpoint: `unix:${daemon.socketPath}`, onNotice }).run("read_path");
  expect(notices).toEqual(Array(3).fill("the daemon is gin 0.0.9, older than this client (0.1.0): restart it"));
  expect(methods(daemon.seen)).toEqual(["read_path", "read_path", "read_path"]);
});

test("a daemon that cannot start says why, and the end of its log is shown", async () => {
  const { host } = tempHost();
  const program = join(tempDir("program"), "daemon.mjs");
  writeFileSync(
    program,
    `import fs from "node:fs";
     const options = JSON.parse(process.argv[2]);
     fs.mkdirSync(options.host + "/logs", { mode: 0o700 });
     fs.writeFileSync(options.host + "/logs/daemon.log", "first\\nlast\\n");
     if (Object.keys(process.env).some((name) => ["NODE_EXTRA_CA_CERTS", "GIN_ROOT", "SECRET_OF_SOMEBODY"].includes(name))) process.exit(9);
     fs.writeSync(options.ready_fd, JSON.stringify({ ready: false, reason: "STORE_TOO_NEW", message: "too new", suggestion: "upgrade" }) + "\\n");`,
  );
  process.env.SECRET_OF_SOMEBODY = "x";
  const session = openSession({ host, daemon: program });
  await expect(session.run("read_path")).rejects.toMatchObject({
    name: "StartError",
    reason: "STORE_TOO_NEW",
    message: "too new",
    suggestion: "upgrade",
    logTail: "first\nlast",
    logFile: join(host, "logs", "daemon.log"),
    sent: false,
  });
});

test("a call that needs the whole tree waits for the import where somebody listens, and no longer than its timeout", async () => {
  const detail = {
    reason: "NOT_READY",
    message: "the first look at the whole directory has not ended",
    retry_after_ms: "10",
    facts: { state: "importing", files: "7", directories_left: "3" },
  };
  let refusals = 2;
  const daemon = await fakeDaemon(() => ({ json: refusals-- > 0 ? { error: detail } : { diff: { files: [] } } }));
  const told: string[] = [];
  const onImporting = ({ files, directoriesLeft }: { files: string; directoriesLeft: string }): void =>
    void told.push(`${files} ${directoriesLeft}`);
  const patient = openSession({ endpoint: `unix:${daemon.socketPath}`, onImporting });
  expect(await patient.run("diff")).toEqual({ files: [] });
  expect(told).toEqual(["7 3", "7 3"]);
  refusals = Number.POSITIVE_INFINITY;
  const brief = openSession({ endpoint: `unix:${daemon.socketPath}`, onImporting, timeoutMs: 60 });
  await expect(brief.run("diff")).rejects.toMatchObject({ detail: { reason: "NOT_READY" } });
  const plain = openSession({ endpoint: `unix:${daemon.socketPath}` });
  const before = daemon.seen.length;
  await expect(plain.run("diff")).rejects.toMatchObject({ detail: { reason: "NOT_READY" } });
  expect(daemon.seen.length).toBe(before + 1);
  for (const session of [patient, brief, plain]) session.close();
});
