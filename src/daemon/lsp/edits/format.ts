import { GinError } from "../../base/index.ts";
import { hasAbility } from "../queries/abilities.ts";
import { handlerOf } from "../queries/ground.ts";
import { type Ability, documentOf } from "../queries/types.ts";
import { indentationOf } from "./indentation.ts";
import { replacementsOf } from "./operations.ts";
import { planSteps, toldNow } from "./plan.ts";
import { rangeIn, spanOf } from "./range.ts";
import { refusedEdit } from "./refused.ts";

const WHOLE = { capability: "documentFormattingProvider", method: "textDocument/formatting" } as const satisfies Ability;
const RANGE = {
  capability: "documentRangeFormattingProvider",
  method: "textDocument/rangeFormatting",
} as const satisfies Ability;

/** Lays out a document, or a range of it, indented as it is. */
export const format = handlerOf({
  about: "document",
  indexing: "exact",
  across: false,
  async find(ground) {
    const { question, encoding, leased } = ground;
    const { uri, path, text } = documentOf(ground);
    const ability = question.line === undefined ? WHOLE : RANGE;
    if (!hasAbility(ground.run, ability)) {
      const what = ability === WHOLE ? "format a file" : "format a part of a file";
      throw new GinError("UNSUPPORTED", `${leased.spec.id} cannot ${what}`, undefined, { facts: { requested: ability.method } });
    }
    const options = indentationOf(text.text);
    const range = ability === RANGE ? { range: rangeIn(text, spanOf(question, text), encoding) } : {};
    const told = toldNow(ground);
    const answer = await ground.request(ability.method, { textDocument: { uri }, ...range, options });
    const refuse = (message: string): GinError => refusedEdit(leased.spec.id, message, path);
    const step = { kind: "edit", uri, version: null, replacements: replacementsOf(answer, refuse) } as const;
    return { kind: "edit", plan: await planSteps(ground, [step], { title: `format ${path}`, told }) };
  },
});
