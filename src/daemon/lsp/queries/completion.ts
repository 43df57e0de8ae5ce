import { cutText } from "../../base/index.ts";
import type { Completion } from "../types.ts";
import { handlerOf } from "./ground.ts";
import { completionKind } from "./kinds.ts";
import { said } from "./locations.ts";
import { isObject, objectsOf, type Raw, textOf } from "./raw.ts";
import { type Ability, type Ground, placeParams } from "./types.ts";

/** Completions that are told; thousands are offered where any name may stand. */
const MOST_COMPLETIONS = 200;
const TEXT_CHARACTERS = 500;

const COMPLETION = { capability: "completionProvider", method: "textDocument/completion" } as const satisfies Ability;

/** What may stand at a place, best first by the server's own order. Details that it would have to be asked for one by one are left out. */
export const completion = handlerOf({
  about: "place",
  ability: COMPLETION,
  indexing: "partial",
  across: "changes",
  async find(ground) {
    const context = { triggerKind: 1 };
    const answer = await ground.request(COMPLETION.method, { ...placeParams(ground), context });
    const list = isObject(answer) ? (answer["items"] ?? []) : (answer ?? []);
    const all = objectsOf(list).filter((raw) => textOf(raw["label"]) !== "");
    if (isObject(answer) && answer["isIncomplete"] === true) ground.partial("the server has more: type further");
    const keyed = all.map((raw, index) => ({ raw, key: textOf(raw["sortText"]) || textOf(raw["label"]), index }));
    keyed.sort((a, b) => (a.key === b.key ? a.index - b.index : a.key < b.key ? -1 : 1));
    const items = keyed.slice(0, MOST_COMPLETIONS).map(({ raw }) => completionOf(ground, raw));
    return { kind: "completions", completions: { items, total: all.length } };
  },
});

function completionOf(ground: Ground, raw: Raw): Completion {
  const label = textOf(raw["label"]);
  const edit = isObject(raw["textEdit"]) ? textOf(raw["textEdit"]["newText"]) : "";
  return {
    label: cutText(label, TEXT_CHARACTERS),
    kind: completionKind(raw["kind"]),
    detail: cutText(said(ground, textOf(raw["detail"])), TEXT_CHARACTERS),
    insertText: cutText(edit || textOf(raw["insertText"]) || label, TEXT_CHARACTERS),
  };
}
