import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startDaemon } from "../../helpers/daemon.ts";
import { runGin } from "../../helpers/gin.ts";
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
    if (kind === "off") return;
    await vi.waitFor(
      async () => expect(Number((await context()).state.generation)).toBeGreaterThan(Number(before.state.generation)),
      { timeout: 30_000, interval: 100 },
    );
    const log = (await run("log", "src/deep/a.txt")) as { checkpoints: { cause: string }[] };
    expect(log.checkpoints[0]?.cause).toMatch(/EXTERNAL/i);
    await daemon.stop();
  },
);
