import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Caller, SCOPES } from "../../../src/daemon/base/index.ts";
import { type Answer, type ApiSite, caller, fastDir, openApi } from "./site.ts";

let serial = 0;

/** Agents with every scope but undo_others, and one that has it. */
export const plain = (name: string): Caller =>
  caller(name, {
    scopes: new Set(SCOPES.filter((scope) => scope !== "undo_others" && scope !== "admin" && scope !== "approve")),
  });
/** Who calls in these tests. */
export const callers = {
  ada: plain("ada"),
  "ada/tests": plain("ada/tests"),
  bob: plain("bob"),
  fenced: { ...plain("fenced"), paths: ["src"] },
};

/** A site with these callers. */
export function open(directory = fastDir(), requireLease: "never" | "always" = "never"): Promise<ApiSite> {
  return openApi({ directory, callers, requireLease });
}

/** Hash of what is at a path, or "absent". */
export async function shaAt(site: ApiSite, path: string): Promise<string> {
  const answer = await site.call("ReadPath", { path, content: false });
  return answer.status === 200 ? answer.body.sha256 : "absent";
}

/** Saves edits and gives the checkpoint; `expect` is filled in. */
export async function save(site: ApiSite, as: string, edits: object[], requestId = `s-${++serial}`): Promise<string> {
  const filled = [];
  for (const edit of edits as { path: string }[]) filled.push({ expect: await shaAt(site, edit.path), ...edit });
  const answer = await site.call("Save", { request_id: requestId, edits: filled }, { as });
  expect(answer.error).toBeUndefined();
  return answer.body.checkpoint;
}

/** Saves one text; gives the checkpoint. */
export const write = (site: ApiSite, as: string, path: string, text: string): Promise<string> => save(site, as, [{ path, text }]);

/** Takes something back. */
export function undo(site: ApiSite, select: object, more: object = {}, as = "owner"): Promise<Answer> {
  return site.call("Undo", { request_id: `u-${++serial}`, select, ...more }, { as });
}

/** Brings something again. */
export function redo(site: ApiSite, checkpoint: string, more: object = {}, as = "owner"): Promise<Answer> {
  return site.call("Redo", { request_id: `r-${++serial}`, undo: checkpoint, ...more }, { as });
}

/** What is on disk, a character a byte. */
export const at = (site: ApiSite, path: string): string => readFileSync(join(site.root, path), "latin1");
/** Whether anything is on disk. */
export const there = (site: ApiSite, path: string): boolean => existsSync(join(site.root, path));
/** An edit that expects a symlink to lead somewhere. */
export function linkExpect(edit: object, target: string): object {
  return { ...edit, expect: createHash("sha256").update(target).digest("hex") };
}
