import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EditPlan, LspAnswer } from "../../../src/daemon/lsp/index.ts";
import { type DiskWorkspace, sha } from "./disk-workspace.ts";

/** The plan of an answer. */
export function planIn({ found }: LspAnswer): EditPlan {
  if (found.kind !== "edit") throw new Error(`found ${found.kind}`);
  return found.plan;
}

/** Makes a plan's edits on disk as a save would: nothing when one path is not as the plan expects it. */
export function apply(workspace: DiskWorkspace, { edits }: EditPlan): void {
  const at = (path: string): string => join(workspace.root, path);
  for (const { path, expect } of edits) {
    const now = hashOf(at(path));
    if (now !== expect) throw new Error(`${path} is ${now} and was expected to be ${expect}`);
  }
  const moved = edits.filter(({ renameTo }) => renameTo !== undefined);
  for (const { path } of edits.filter(({ delete: gone }) => gone === true)) rmSync(at(path));
  // By names in between, as two may change places.
  for (const { path } of moved) renameSync(at(path), `${at(path)}.moved`);
  for (const { path, renameTo, content } of edits) {
    const to = at(renameTo ?? path);
    mkdirSync(dirname(to), { recursive: true });
    if (renameTo !== undefined) renameSync(`${at(path)}.moved`, to);
    if (content !== undefined) writeFileSync(to, content);
  }
}

/** What files hold after a plan, by path; null for those that go. */
export function textsOf({ edits }: EditPlan): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    edits.map(({ path, renameTo, content, delete: gone }) => [
      renameTo === undefined ? path : `${path} → ${renameTo}`,
      gone === true || content === undefined ? null : Buffer.from(content).toString("utf8"),
    ]),
  );
}

/** Runs a program in a directory: its exit status and what it printed. */
export function runIn(
  cwd: string,
  program: string,
  ...args: readonly string[]
): Promise<{ readonly status: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      const status = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
      resolve({ status, output: `${stdout}${stderr}` });
    });
  });
}

function hashOf(path: string): string {
  try {
    return sha(readFileSync(path));
  } catch {
    return "absent";
  }
}
