import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type Clock, nodeCommands, nodeDirectoryWatch, nodeFs, systemClock } from "../../../src/daemon/base/index.ts";
import type { Store } from "../../../src/daemon/store/index.ts";
import { createIgnoreRules, createWatcher, type OpenWorkspaceDeps, readGit } from "../../../src/daemon/workspace/index.ts";
import { Bell } from "../../helpers/bell.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { hashOf } from "./model.ts";
import { openSite, quiet, type Site } from "./site.ts";
import { imported, loggedOf, treeOf } from "./whole.ts";

/** Rules, watcher and repository of a root as the daemon makes them. */
function aroundOf(root: string, clock: Clock): NonNullable<OpenWorkspaceDeps["around"]> {
  return async (confined) => {
    const ignore = createIgnoreRules({ root: confined, path: root, fs: nodeFs });
    const watcher = createWatcher({
      kind: "auto",
      root: confined,
      path: root,
      ignored: (path, isDirectory) => ignore.ignored(path, isDirectory),
      fs: nodeFs,
      directories: nodeDirectoryWatch,
      clock,
      log: quiet,
    });
    const found = await readGit(root, { commands: nodeCommands, fs: nodeFs, clock: systemClock, env: process.env });
    return { ignore, watcher, ...(found.kind === "work-tree" ? { git: found.git } : {}) };
  };
}

/** A site under `directory` that watches its `ws/`, imported; closed at teardown. */
export async function openLiving(directory: string, store?: Store, clock: Clock = systemClock): Promise<Site> {
  const around = aroundOf(join(directory, "ws"), clock);
  const site = await openSite(directory, { import: true, around, ...(store === undefined ? {} : { store }) });
  atTeardown(() => site.close());
  await imported(site);
  return site;
}

/** Files and symlinks on disk below a root, but for `.git` and other top directories left out, as treeOf says them. */
export function diskTree(root: string, leftOut: readonly string[] = []): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    if ([".git", ...leftOut].includes(name.split("/", 1)[0] ?? "")) continue;
    const path = join(root, name);
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) found[name] = `-> ${hashOf(Buffer.from(readlinkSync(path)))}`;
    else if (stat.isFile()) found[name] = `${hashOf(readFileSync(path))}${(stat.mode & 0o100) === 0 ? "" : " x"}`;
  }
  return found;
}

/** Waits until what is recorded is `wanted`, without asking for a look; looks at each change of the head. */
export async function noticed(site: Site, wanted: Record<string, string>): Promise<void> {
  const text = sorted(wanted);
  const heads = new Bell();
  const stop = site.workspace.onChange(heads.ring);
  try {
    await heads.until(() => sorted(treeOf(site)) === text, 60_000);
  } finally {
    stop();
  }
}

const sorted = (tree: Record<string, string>): string => JSON.stringify(Object.entries(tree).sort());

/** How many checkpoints the log has of each cause. */
export function byCause(site: Site): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [cause] of loggedOf(site)) counts[cause] = (counts[cause] ?? 0) + 1;
  return counts;
}
