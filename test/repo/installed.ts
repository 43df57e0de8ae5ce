import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { startDaemon } from "../helpers/daemon.ts";
import { runGin } from "../helpers/gin.ts";
import { repo } from "../helpers/repo.ts";
import { tempHost } from "../helpers/temp.ts";
import { npm } from "./npm.ts";

/** Packs the repository as it is built, into `folder`; gives the tarball's path. */
export async function pack(folder: string): Promise<string> {
  const result = await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: repo });
  expect(result.code, result.stderr).toBe(0);
  const [{ filename }] = JSON.parse(result.stdout) as [{ filename: string }];
  return join(folder, filename);
}

/** An empty package for an installation to go into. */
export function emptyPackage(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  return folder;
}

/** Serves a fresh directory with an installation's `bin/gin` under `node`, then reads and saves a file through its CLI. */
export async function servesReadsAndSaves(bin: string, node = process.execPath): Promise<void> {
  const { root, host } = tempHost();
  writeFileSync(join(root, "hello.txt"), "hello\n");
  const daemon = await startDaemon({ host, root, bin, node });
  expect(daemon.ready.ready).toBe(true);
  const options = { host, bin, node, cwd: root };
  const read = await runGin(["read", "hello.txt"], options);
  expect(read, daemon.log()).toMatchObject({ code: 0, stdout: "hello\n" });
  writeFileSync(join(host, "new.txt"), "saved\n");
  const save = await runGin(["save", "new.txt", "--from", join(host, "new.txt"), "--expect", "absent"], options);
  expect(save.code, save.stderr).toBe(0);
  expect(await runGin(["read", "new.txt"], options)).toMatchObject({ code: 0, stdout: "saved\n" });
  expect(await daemon.stop()).toEqual({ code: 0, signal: null });
}
