import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { runGin } from "../helpers/gin.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempHost } from "../helpers/temp.ts";

/** A daemon with one workspace, which holds a.txt ("hello\n"). */
export interface Site {
  readonly root: string;
  readonly host: string;
  readonly daemon: TestDaemon;
}

/** Serves a fresh root on the socket alone. */
export async function startSite(args: readonly string[] = ["--listen", "none"]): Promise<Site> {
  const { root, host } = tempHost();
  writeFileSync(join(root, "a.txt"), "hello\n");
  return { root, host, daemon: await startDaemon({ host, root, args }) };
}

/** SHA-256 of "hello\n". */
export const HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/** A root and a host whose daemon is started on demand, and stopped at teardown. */
export function onDemand(): { readonly root: string; readonly host: string } {
  const dirs = tempHost();
  atTeardown(async () => {
    await runGin(["stop"], { host: dirs.host });
  });
  return dirs;
}
