import { GinError } from "../../base/index.ts";
import { judge } from "../diagnostics/index.ts";
import { createText } from "../mirror/index.ts";
import { hasAbility } from "../queries/abilities.ts";
import { handlerOf } from "../queries/ground.ts";
import { isObject, rangeOf } from "../queries/raw.ts";
import { REFERENCES } from "../queries/references.ts";
import { type Ability, documentOf, type Ground, placeParams } from "../queries/types.ts";
import { wordAround } from "../queries/words.ts";
import type { EditPlan, Place } from "../types.ts";
import type { Drafted } from "./draft.ts";
import { planOf, toldNow } from "./plan.ts";
import { refusedEdit } from "./refused.ts";
import { bearing, checkWhole, few, holds, nameAt, usesOf } from "./uses.ts";
import type { Before } from "./verify.ts";

const RENAME = { capability: "renameProvider", method: "textDocument/rename" } as const satisfies Ability;

/** Files opened for a server that sees no others, and milliseconds it has to look at them. */
const MOST_OPENED = 200;
const LOOKING_MS = 5_000;

/** What is to be renamed. */
interface Subject {
  readonly name: string;
  /** Where the name begins. */
  readonly place: Place;
}

/**
 * A new name for a symbol, wherever it is used: of a server that does not see the whole project, what holds the name is opened first; where the server counts uses that
 * its edit leaves out, the plan says so.
 */
export const rename = handlerOf({
  about: "place",
  ability: RENAME,
  indexing: "refused",
  across: "changes",
  async find(ground) {
    const newName = checkedName(ground);
    const subject = await subjectOf(ground);
    const holders = await openHolders(ground, subject.name);
    const counts = hasAbility(ground.run, REFERENCES);
    const all = counts ? await usesOf(ground) : [];
    const name = nameAt(ground, all) ?? subject.name;
    const uses = await bearing(ground, all, name);
    if (!counts) ground.note(`${ground.leased.spec.id} cannot count references: whether all uses are renamed is not known`);
    const told = toldNow(ground);
    const answer = await ground.request(RENAME.method, { ...placeParams(ground), newName });
    const title = `rename ${subject.name} to ${newName}`;
    const before = (drafted: Drafted): Before | undefined => {
      if (drafted.edits.length === 0 || !counts) return undefined;
      const others = checkWhole(ground, name, uses, drafted.files);
      return beforeOf(ground, { ...subject, newName }, drafted, uses.length - others);
    };
    const plan = await planOf(ground, answer ?? {}, { title, told, before });
    if (plan.edits.length === 0 && newName !== subject.name) {
      throw refusedEdit(ground.leased.spec.id, `it renames nothing at ${documentOf(ground).path}:${subject.place.line}`);
    }
    checkHolders(ground, subject.name, holders, plan);
    return { kind: "edit", plan };
  },
});

function checkedName({ question: { newName = "" } }: Ground): string {
  if (newName.trim() !== "" && !/[\p{Cc}\u2028\u2029]/u.test(newName)) return newName;
  throw new GinError("INVALID_REQUEST", "the new name is empty, or has characters that no name has", undefined, {
    facts: { field: "new_name" },
  });
}

/** What the server would rename. Throws LSP_REFUSED where it says that nothing there can be. */
async function subjectOf(ground: Ground): Promise<Subject> {
  const { text, path } = documentOf(ground);
  const place = ground.place ?? { line: 1, character: 1 };
  const word = { name: wordAround(text.line(place.line), place.character), place };
  const provider = ground.run.capabilities.renameProvider;
  const registered = ground.run.registered(RENAME.method).some((one) => isObject(one) && one["prepareProvider"] === true);
  if (!registered && !(isObject(provider) && provider["prepareProvider"] === true)) return word;
  const answer = await ground.request("textDocument/prepareRename", placeParams(ground));
  if (answer === null || answer === undefined) {
    throw refusedEdit(ground.leased.spec.id, `nothing at ${path}:${place.line}:${place.character} can be renamed`, path);
  }
  const range = rangeOf(answer) ?? (isObject(answer) ? rangeOf(answer["range"]) : undefined);
  if (range === undefined) return word;
  const span = text.span(range, ground.encoding);
  const line = [...text.line(span.start.line)].slice(span.start.character - 1);
  const name = line.slice(0, span.end.character - span.start.character).join("");
  return { name: span.end.line === span.start.line ? name : word.name, place: span.start };
}

/**
 * Of a server that knows only what it has opened: whatever holds the name, opened, and looked at by it as far as there is time. Gives their paths; none of
 * a server that sees the whole project.
 */
async function openHolders(ground: Ground, name: string): Promise<readonly string[]> {
  const { leased, room, question, synced, deadline, mirror, clock } = ground;
  const { spec } = leased;
  if (spec.wholeProject || name === "") return [];
  const likely = await room.vocabularies.holding(question.workspace, spec, synced.tree, [name], deadline.signal);
  if (likely.length > MOST_OPENED)
    ground.partial(`${likely.length - MOST_OPENED} more files may hold ${name} and were not opened`);
  const holders: string[] = [];
  const now = clock.monotonicMs();
  const patient = { ...deadline, atMs: now + Math.min(LOOKING_MS, (deadline.atMs - now) / 3) };
  const looked = likely.slice(0, MOST_OPENED).map(async (path) => {
    const text = await mirror.text(path);
    if (text === undefined || !holds(text.text, name)) return;
    holders.push(path);
    try {
      const document = await mirror.open(path, deadline);
      // What it says of a file shows that it has taken it in.
      await judge({ mirror, clock, server: spec.id }, document, patient);
    } catch (thrown) {
      unlessOver(thrown);
    }
  });
  await Promise.all(looked);
  ground.note(`${spec.id} does not see the whole project: the ${holders.length} files that hold ${name} were opened for it`);
  return holders.sort();
}

/** Says of files that hold the name and are not in the edit of a server that may not have seen them. */
function checkHolders(ground: Ground, name: string, holders: readonly string[], { files }: EditPlan): void {
  const edited = new Set(files.map(({ path }) => path));
  const left = holders.filter((path) => !edited.has(path) && ground.question.visible(path));
  if (left.length === 0) return;
  ground.partial(`${name} stands in files that are left as they are: ${few(left)}`);
}

/** That it says nothing of one file in time, or refuses to, is no reason to rename nothing. */
function unlessOver(thrown: unknown): void {
  if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED") throw thrown;
  if (thrown.facts["state"] === "crashed" || thrown.facts["state"] === "stopped") throw thrown;
}

/** Where the name is found again once the plan is saved. */
function beforeOf(
  ground: Ground,
  { place, newName }: Subject & { readonly newName: string },
  { files, edits }: Drafted,
  count: number,
): Before {
  const { path, text } = documentOf(ground);
  const file = files.find((one) => one.path === path);
  const content = edits.find((one) => one.path === path && one.content !== undefined)?.content;
  const now = file?.renamedTo === undefined || file.renamedTo === "" ? path : file.renamedTo;
  if (file === undefined || content === undefined) return { count, name: newName, path: now, place };
  const offset = (at: Place): number => text.offset(text.toServer(at, "utf-16"), "utf-16");
  const at = offset(place);
  let moved = 0;
  for (const { span, newText } of file.changes) {
    const [from, to] = [offset(span.start), offset(span.end)];
    // The name's own change begins where the name does, or ends where it begins when something is put before it.
    if (from >= at) break;
    moved += newText.length - (Math.min(to, at) - from);
  }
  const after = createText(content, "");
  return { count, name: newName, path: now, place: after.fromServer(after.position(at + moved, "utf-16"), "utf-16") };
}
