import { createHash } from "node:crypto";
import { cutText, GinError } from "../../base/index.ts";
import { judge, pulls } from "../diagnostics/index.ts";
import { hasAbility } from "../queries/abilities.ts";
import { handlerOf } from "../queries/ground.ts";
import { said } from "../queries/locations.ts";
import { placeOf } from "../queries/place.ts";
import { comparePositions, isObject, objectsOf, type Raw, rangeOf, textOf } from "../queries/raw.ts";
import { type Ability, documentOf, type Ground } from "../queries/types.ts";
import type { CodeAction, EditPlan, Span } from "../types.ts";
import { commandOf, editOfCommand, onlyEdits, whyNot } from "./commands.ts";
import { planOf, type Told, toldNow } from "./plan.ts";
import { rangeIn, spanOf } from "./range.ts";
import { refusedEdit } from "./refused.ts";

export const CODE_ACTION = { capability: "codeActionProvider", method: "textDocument/codeAction" } as const satisfies Ability;

const TITLE_CHARACTERS = 300;
/** Milliseconds that a server's diagnostics are waited for where they come by themselves: its actions are about them. */
const DIAGNOSTICS_MS = 2_000;

/** A part of the document that actions are for, and the kinds that were asked for. */
interface Subject {
  readonly span: Span;
  readonly only: readonly string[];
}

/** An action a server offers, with what it sent of it. */
export interface Offered {
  readonly action: CodeAction;
  readonly raw: Raw;
}

/** What a server offers to change at a place, or the edit of one that it offered. */
export const codeActions = handlerOf({
  about: "document",
  ability: CODE_ACTION,
  indexing: "refused",
  across: "changes",
  async find(ground) {
    const { codeAction } = ground.question;
    if (codeAction === undefined) {
      const offered = await offeredAt(ground, await subjectOf(ground));
      return { kind: "code_actions", actions: { items: offered.map(({ action }) => action), total: offered.length } };
    }
    const told = toldNow(ground);
    const offered = await offeredAt(ground, subjectIn(ground, codeAction));
    const found = offered.find(({ action }) => action.id === codeAction);
    if (found === undefined) throw unknown(codeAction);
    return { kind: "edit", plan: await planOfAction(ground, found, told) };
  },
});

async function subjectOf(ground: Ground): Promise<Subject> {
  const { question } = ground;
  const { text } = documentOf(ground);
  const only = question.only ?? [];
  if ((question.symbol ?? "") === "") return { span: spanOf(question, text), only };
  const place = await placeOf(ground);
  return { span: { start: place, end: place }, only };
}

/** What the server offers there now; its ids are of this content, range and kinds. */
export async function offeredAt(ground: Ground, { span, only }: Subject): Promise<readonly Offered[]> {
  const { uri, text } = documentOf(ground);
  const range = rangeIn(text, span, ground.encoding);
  const diagnostics = (await known(ground)).filter((one) => {
    const at = rangeOf(one["range"]);
    return at !== undefined && comparePositions(at.start, range.end) <= 0 && comparePositions(range.start, at.end) <= 0;
  });
  const context = { diagnostics, triggerKind: 1, ...(only.length === 0 ? {} : { only }) };
  const answer = await ground.request(CODE_ACTION.method, { textDocument: { uri }, range, context });
  const counts = new Map<string, number>();
  return objectsOf(answer).flatMap((raw) => {
    const [title, kind] = [textOf(raw["title"]), textOf(raw["kind"])];
    if (title === "" || !wanted(kind, only)) return [];
    const name = `${kind}\n${title}`;
    const ordinal = counts.get(name) ?? 0;
    counts.set(name, ordinal + 1);
    const id = idOf(text.sha256, { span, only }, `${name}\n${ordinal}`);
    const action = { id, title: cutText(said(ground, title), TITLE_CHARACTERS), kind, preferred: raw["isPreferred"] === true };
    return [{ action: { ...action, disabled: disabledOf(ground, raw) }, raw }];
  });
}

/** Some servers give more than was asked for. */
function wanted(kind: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((one) => kind === one || kind.startsWith(`${one}.`));
}

/** The edit of an offered action. Throws LSP_REFUSED for one that is disabled or comes to no edit, UNSUPPORTED for one that runs what may do more. */
export async function planOfAction(ground: Ground, { action, raw }: Offered, told: Told): Promise<EditPlan> {
  const server = ground.leased.spec.id;
  if (isObject(raw["disabled"])) throw refusedEdit(server, `"${action.title}" is disabled: ${action.disabled}`);
  const whole = isObject(raw["edit"]) || !resolves(ground) ? raw : await ground.request("codeAction/resolve", raw);
  const edit = isObject(whole) ? whole["edit"] : undefined;
  const command = isObject(whole) ? (commandOf(whole) ?? commandOf(whole["command"])) : undefined;
  if (isObject(edit)) {
    if (command !== undefined) ground.note(`the server's command ${command.command} that comes with it is not run`);
    return planOf(ground, edit, { title: action.title, told });
  }
  if (command === undefined) throw refusedEdit(server, `"${action.title}" comes to no edit`);
  const made = await editOfCommand(ground, command);
  if (made === undefined) throw refusedEdit(server, `"${action.title}" comes to no edit`);
  return planOf(ground, made, { title: action.title, told });
}

function resolves({ run }: Ground): boolean {
  const all = [run.capabilities.codeActionProvider, ...run.registered(CODE_ACTION.method)];
  return all.some((one) => isObject(one) && one["resolveProvider"] === true);
}

function disabledOf(ground: Ground, raw: Raw): string {
  if (isObject(raw["disabled"])) return cutText(textOf(raw["disabled"]["reason"]), TITLE_CHARACTERS) || "the server says so";
  if (isObject(raw["edit"])) return "";
  const command = commandOf(raw) ?? commandOf(raw["command"]);
  if (command === undefined) return resolves(ground) ? "" : "it comes without an edit";
  return onlyEdits(ground.leased.spec.id, command) || (resolves(ground) && raw["data"] !== undefined) ? "" : whyNot(command);
}

/** What the server says is wrong, as it said it: actions are matched by it. */
async function known(ground: Ground): Promise<readonly Raw[]> {
  const { mirror, clock, deadline, leased } = ground;
  const atMs = pulls(mirror.run) ? deadline.atMs : Math.min(deadline.atMs, clock.monotonicMs() + DIAGNOSTICS_MS);
  try {
    const asked = { mirror, clock, server: leased.spec.id };
    return (await judge(asked, documentOf(ground), { ...deadline, atMs })).items;
  } catch (thrown) {
    if (!(thrown instanceof GinError) || thrown.facts["state"] !== "timed_out" || clock.monotonicMs() >= deadline.atMs)
      throw thrown;
    ground.partial(`${leased.spec.id} did not say in time what is wrong: actions that mend it may be left out`);
    return [];
  }
}

/** "la_", the content's hash, the range, the kinds asked for, which of the actions. */
function idOf(sha256: string, { span: { start, end }, only }: Subject, which: string): string {
  const range = [start.line, start.character, end.line, end.character].join(".");
  const kinds = Buffer.from(only.join(",")).toString("base64url");
  return `la_${sha256.slice(0, 12)}_${range}_${createHash("sha256").update(which).digest("hex").slice(0, 12)}_${kinds}`;
}

const ID = /^la_([0-9a-f]{12})_(\d{1,9})\.(\d{1,9})\.(\d{1,9})\.(\d{1,9})_[0-9a-f]{12}_([\w-]{0,400})$/;

/** What an id was given for. Throws ID_NOT_FOUND for what is none, STALE_CONTENT for one of another content. */
function subjectIn(ground: Ground, id: string): Subject {
  const { path, text } = documentOf(ground);
  const [, hash, ...parts] = ID.exec(id) ?? [];
  if (hash === undefined) throw unknown(id);
  if (!text.sha256.startsWith(hash)) {
    throw new GinError(
      "STALE_CONTENT",
      `${path} has another content than the action was offered for`,
      "ask for code_actions again",
      {
        facts: { paths: [{ path, actual: text.sha256 }] },
      },
    );
  }
  const [line = 1, character = 1, endLine = 1, endCharacter = 1] = parts.slice(0, 4).map(Number);
  const only = Buffer.from(parts[4] ?? "", "base64url").toString();
  const span = { start: { line, character }, end: { line: endLine, character: endCharacter } };
  return { span, only: only === "" ? [] : only.split(",") };
}

function unknown(id: string): GinError {
  return new GinError("ID_NOT_FOUND", "the server offers no such action", "ask for code_actions again", { facts: { id } });
}

/** Whether a server says that it has actions of a kind; one that lists none may have any. */
export function offersKind({ run }: Ground, kind: string): boolean {
  const lists = [run.capabilities.codeActionProvider, ...run.registered(CODE_ACTION.method)].flatMap((one) =>
    isObject(one) && Array.isArray(one["codeActionKinds"]) ? [one["codeActionKinds"]] : [],
  );
  if (lists.length === 0) return hasAbility(run, CODE_ACTION);
  return lists.flat().some((one) => typeof one === "string" && (one === kind || kind.startsWith(`${one}.`)));
}
