import { GinError } from "../../base/index.ts";
import { isObject, objectsOf } from "../queries/raw.ts";
import type { Ground } from "../queries/types.ts";
import { refusedEdit } from "./refused.ts";

/** Commands that are known to do nothing but work out an edit, by server. Any other may run programs or write files, and is not run. */
const EDITING: Readonly<Record<string, readonly string[]>> = {
  pyright: ["pyright.organizeimports", "pyright.addoptionalforparam"],
  basedpyright: ["basedpyright.organizeimports", "basedpyright.addoptionalforparam"],
  clangd: ["clangd.applyFix", "clangd.applyTweak", "clangd.applyRename"],
  gopls: ["gopls.apply_fix"],
  jdtls: ["java.apply.workspaceEdit", "java.apply.refactoringCommand"],
};

/** A command of a server as it names it. */
export interface ServerCommand {
  readonly command: string;
  readonly arguments: readonly unknown[];
}

/** Those under way, by run: an edit a server wants made does not say which command it is of. */
const UNDER_WAY = new WeakMap<object, Promise<unknown>>();

/** Runs with a command that was given up: what they want made later may be of that one. */
const LEFT = new WeakSet<object>();

/** Whether running it does nothing but work out an edit. */
export function onlyEdits(server: string, { command }: ServerCommand): boolean {
  return EDITING[server]?.includes(command) === true;
}

/** A command in an answer; undefined for anything else. */
export function commandOf(value: unknown): ServerCommand | undefined {
  if (!isObject(value) || typeof value["command"] !== "string") return undefined;
  return { command: value["command"], arguments: Array.isArray(value["arguments"]) ? value["arguments"] : [] };
}

/**
 * The edit that a command works out: its result, or what it wants made, which is refused to it. Throws UNSUPPORTED for one that may do more than edit, LSP_REFUSED when it gives no
 * edit, or several.
 */
export async function editOfCommand(ground: Ground, command: ServerCommand): Promise<unknown> {
  const { spec } = ground.leased;
  if (!onlyEdits(spec.id, command)) {
    throw new GinError("UNSUPPORTED", whyNot(command), undefined, { facts: { requested: command.command } });
  }
  const { run } = ground.mirror;
  const before = UNDER_WAY.get(run) ?? Promise.resolve();
  const mine = before.then(
    () => captured(ground, command),
    () => captured(ground, command),
  );
  UNDER_WAY.set(
    run,
    mine.catch(() => {}),
  );
  return mine;
}

/** Why a command is not run. */
export function whyNot({ command }: ServerCommand): string {
  return `it runs the server's command ${command}, which may do more than edit`;
}

async function captured(ground: Ground, command: ServerCommand): Promise<unknown> {
  const { run } = ground.mirror;
  const { id } = ground.leased.spec;
  const edits: unknown[] = [];
  const off = run.on("workspace/applyEdit", (params) => {
    if (!LEFT.has(run)) for (const { edit } of objectsOf(params)) edits.push(edit);
  });
  try {
    const result = await ground.request("workspace/executeCommand", command);
    if (isObject(result) && ("changes" in result || "documentChanges" in result)) edits.push(result);
  } catch (thrown) {
    if (thrown instanceof GinError && (thrown.reason === "CANCELLED" || thrown.reason === "NOT_READY")) LEFT.add(run);
    // That it may not make the edit is an error to some; the edit is here.
    if (!(thrown instanceof GinError) || thrown.reason !== "LSP_REFUSED" || edits.length === 0) throw thrown;
  } finally {
    off();
  }
  // Some want it made and answer with it as well.
  if (new Set(edits.map((edit) => JSON.stringify(edit))).size > 1) {
    throw refusedEdit(id, `${command.command} makes several edits one after the other`);
  }
  if (edits.length === 0 && LEFT.has(run)) {
    throw refusedEdit(id, `an earlier command of it did not end, so that its edits cannot be told apart: restart it`);
  }
  return edits[0];
}
