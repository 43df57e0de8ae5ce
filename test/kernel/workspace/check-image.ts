import { createHash } from "node:crypto";
import { join } from "node:path";
import type { FailPoints } from "../../../src/daemon/base/index.ts";
import { toGinError } from "../../../src/daemon/base/index.ts";
import type { EditInput } from "../../../src/daemon/workspace/index.ts";
import { applyTo, type Model } from "./model.ts";
import { diskFiles, openSite, type Site } from "./site.ts";

/** What the clients of a site knew. */
export interface History {
  /** Every save sent, by request id. */
  readonly attempted: Map<string, readonly EditInput[]>;
  /** Those that were answered. */
  readonly acknowledged: Set<string>;
}

/**
 * Starts gin on what a dead daemon left, and looks for every promise it could have broken. `outside` are edits made while no
 * daemon ran. Gives the faults in words; none is right.
 */
export async function checkImage(
  directory: string,
  history: History,
  outside: ReadonlyMap<string, Buffer>,
  options: { readonly boot: string; readonly failPoints: FailPoints },
): Promise<string[]> {
  const faults: string[] = [];
  let site: Site;
  try {
    site = await openSite(directory, options);
  } catch (thrown) {
    return [`recovery failed: ${thrown instanceof Error ? thrown.stack : String(thrown)}`];
  }
  try {
    faults.push(...(await lookAt(site, history, outside)));
  } finally {
    await site.close();
  }
  return faults;
}

async function lookAt(site: Site, history: History, outside: ReadonlyMap<string, Buffer>): Promise<string[]> {
  const faults: string[] = [];
  const { store, workspace } = site;
  const committed = new Set<string>();
  for (const id of history.attempted.keys()) {
    if (store.read.request(workspace.rowid, "tester", id)?.outcome === "committed") committed.add(id);
    else if (history.acknowledged.has(id)) faults.push(`${id} was acknowledged and has no outcome`);
  }
  // The log, oldest first, must be a whole run of saves: replaying those it names gives the tree.
  const log = store.read.checkpoints({ workspace: workspace.rowid, limit: 10_000 }).reverse();
  const model: Model = new Map();
  const logged = new Set<string>();
  for (const checkpoint of log) {
    if (checkpoint.requestId === "" || logged.has(checkpoint.requestId)) continue;
    logged.add(checkpoint.requestId);
    const edits = history.attempted.get(checkpoint.requestId);
    if (edits !== undefined) applyTo(model, edits);
  }
  for (const id of committed) if (!logged.has(id)) faults.push(`${id} has an outcome and no checkpoint`);
  for (const id of logged) if (!committed.has(id)) faults.push(`${id} has a checkpoint and no outcome`);
  const disk = diskFiles(join(site.directory, "ws"));
  for (const path of disk.keys()) if (path.includes(".gin-tmp-")) faults.push(`a temp was left: ${path}`);
  for (const [path, bytes] of outside) {
    const there = disk.get(path)?.bytes.equals(bytes) === true;
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (!there && !store.read.hasObject(hash)) faults.push(`an edit outside gin is lost: ${path}`);
  }
  for (const [path, file] of model) {
    if (outside.has(path)) continue;
    const found = disk.get(path);
    if (found === undefined) faults.push(`${path} is not on disk`);
    else if (!found.bytes.equals(file.bytes)) faults.push(`${path} is not what was saved`);
    else if (found.executable !== file.executable) faults.push(`${path} has the wrong mode`);
  }
  for (const path of disk.keys()) if (!model.has(path) && !outside.has(path)) faults.push(`${path} should not be there`);
  for (const [path] of disk) faults.push(...(await readsTrue(site, path, disk.get(path)?.bytes)));
  const recorded = new Map([...store.trees.walk(workspace.tree(), "")].map(({ path, content }) => [path, content]));
  for (const [path, file] of disk) {
    const content = recorded.get(path);
    if (content?.sha256 !== createHash("sha256").update(file.bytes).digest("hex"))
      faults.push(`the head disagrees with the disk about ${path}`);
  }
  for (const path of recorded.keys())
    if (!disk.has(path) && !outside.has(path)) faults.push(`the head has ${path}, the disk has not`);
  return faults;
}

/** A read through gin gives the bytes that are on disk. */
async function readsTrue(site: Site, path: string, bytes: Buffer | undefined): Promise<string[]> {
  try {
    const read = await site.workspace.readHead(path, { authorise: () => {}, content: true });
    if (read.kind === "large") {
      read.close();
      return [];
    }
    return read.kind === "file" && bytes !== undefined && bytes.equals(read.bytes) ? [] : [`reading ${path} gives other bytes`];
  } catch (thrown) {
    return [`reading ${path} failed: ${toGinError(thrown).reason}`];
  }
}
