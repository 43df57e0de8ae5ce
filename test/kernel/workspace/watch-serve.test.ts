import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startDaemon } from "../../helpers/daemon.ts";
import { ginBin, runGin } from "../../helpers/gin.ts";
import { runCommand, spawnOwned } from "../../helpers/process.ts";
import { tempHost } from "../../helpers/temp.ts";

interface Seen {
  readonly state: { readonly generation: string };
  readonly watcher: { readonly kind: string; readonly healthy: boolean; readonly directories: string; readonly note: string };
  readonly import: { readonly done: boolean };
}

test.each(["native", "chokidar", "polling", "off"])(
  "gin serve --watcher %s: what an editor writes is recorded, or said not to be",
  async (kind) => {
    const { root, host } = tempHost();
    mkdirSync(join(root, "src/deep"), { recursive: true });
    mkdirSync(join(root, "node_modules/x"), { recursive: true });
    writeFileSync(join(root, ".gitignore"), "node_modules/\n");
    writeFileSync(join(root, "src/deep/a.txt"), "one\n");
    writeFileSync(join(root, "src/unread.txt"), "one\n");
    const daemon = await startDaemon({ host, root, args: ["--watcher", kind, "--listen", "none"] });
    const run = async (...args: string[]): Promise<unknown> => {
      const done = await runGin([...args, "--json"], { host });
      expect(done.code, done.stderr).toBe(0);
      return JSON.parse(done.stdout);
    };
    const context = async (): Promise<Seen> => (await run("context", "--full")) as Seen;
    await vi.waitFor(async () => expect((await context()).import.done).toBe(true), { timeout: 30_000, interval: 100 });
    const before = await context();
    expect(before.watcher).toMatchObject({ kind });
    if (kind === "native") expect(before.watcher.directories).toBe("3");
    writeFileSync(join(root, "node_modules/x/ignored.js"), "x");
    writeFileSync(join(root, "src/deep/a.txt"), "two\n");
    const causes = async (path: string): Promise<string[]> =>
      ((await run("log", path)) as { checkpoints: { cause: string }[] }).checkpoints.map(({ cause }) => cause);
    if (kind === "off") {
      expect(before.watcher).toMatchObject({ healthy: false, note: "changes on disk are seen when a path is read or saved" });
      writeFileSync(join(root, "src/unread.txt"), "two\n");
      // A look at the one that is asked for; the other one, changed before it, is none of it.
      expect((await runGin(["read", "src/deep/a.txt"], { host })).stdout).toBe("two\n");
      expect((await context()).state.generation).toBe(String(Number(before.state.generation) + 1));
      expect(await causes("src/unread.txt")).toEqual(["CAUSE_IMPORT"]);
    } else
      await vi.waitFor(
        async () => expect(Number((await context()).state.generation)).toBeGreaterThan(Number(before.state.generation)),
        { timeout: 30_000, interval: 100 },
      );
    expect(await causes("src/deep/a.txt")).toEqual(["CAUSE_EXTERNAL", "CAUSE_IMPORT"]);
    expect(await causes("node_modules/x/ignored.js")).toEqual([]);
    await daemon.stop();
  },
);

test("a daemon that the system gives too few watches polls, still records, and says what mends it", async (ctx) => {
  const limit = "echo 2 > /proc/sys/user/max_inotify_watches";
  const possible = await runCommand("unshare", ["-Ur", "sh", "-c", limit]).catch(() => undefined);
  if (possible?.code !== 0) ctx.skip("no user namespace with limits of its own");
  const { root, host } = tempHost();
  for (const name of ["a", "b", "c"]) mkdirSync(join(root, name));
  const serve = `${limit}; exec "$0" "$1" serve --host "$2" --root "$3" --listen none`;
  const daemon = spawnOwned("unshare", ["-Ur", "sh", "-c", serve, process.execPath, ginBin, host, root]);
  daemon.stderr.resume();
  await once(daemon.stdout, "data");
  const context = async (): Promise<Seen> => JSON.parse((await runGin(["context", "--full", "--json"], { host })).stdout) as Seen;
  await vi.waitFor(async () => expect((await context()).watcher.note).not.toBe(""), { timeout: 30_000, interval: 100 });
  const before = await context();
  expect(before.watcher).toMatchObject({ kind: "polling", healthy: false, directories: "0" });
  expect(before.watcher.note).toMatch(/sudo sysctl fs\.inotify\.max_user_watches=\d+$/);
  await vi.waitFor(async () => expect((await context()).import.done).toBe(true), { timeout: 30_000, interval: 100 });
  const { generation } = (await context()).state;
  writeFileSync(join(root, "b/new.txt"), "x");
  await vi.waitFor(async () => expect(Number((await context()).state.generation)).toBeGreaterThan(Number(generation)), {
    timeout: 30_000,
    interval: 100,
  });
});
