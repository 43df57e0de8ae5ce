import { cutText } from "../../base/index.ts";
import type { Signature } from "../types.ts";
import { handlerOf } from "./ground.ts";
import { contentsOf } from "./hover.ts";
import { said } from "./locations.ts";
import { isObject, objectsOf, type Raw, textOf } from "./raw.ts";
import { type Ability, type Ground, placeParams } from "./types.ts";

/** Signatures that are told, and characters of each one's documentation. */
const MOST_SIGNATURES = 50;
const DOCUMENTATION_CHARACTERS = 4_000;

const SIGNATURE = { capability: "signatureHelpProvider", method: "textDocument/signatureHelp" } as const satisfies Ability;

/** The signatures of the call around a place. */
export const signature = handlerOf({
  about: "place",
  ability: SIGNATURE,
  indexing: "partial",
  across: "changes",
  async find(ground) {
    // Invoked by hand.
    const context = { triggerKind: 1, isRetrigger: false };
    const answer = await ground.request(SIGNATURE.method, { ...placeParams(ground), context });
    if (!isObject(answer)) return { kind: "signatures", signatures: [] };
    const all = Array.isArray(answer["signatures"]) ? objectsOf(answer["signatures"]) : [];
    if (all.length > MOST_SIGNATURES) ground.partial(`the first ${MOST_SIGNATURES} of ${all.length} signatures`);
    const active = numberOf(answer["activeSignature"]);
    const parameter = numberOf(answer["activeParameter"]);
    return {
      kind: "signatures",
      signatures: all.slice(0, MOST_SIGNATURES).map((raw, index) => signatureOf(ground, raw, index === active, parameter)),
    };
  },
});

function signatureOf(ground: Ground, raw: Raw, active: boolean, parameter: number): Signature {
  const label = textOf(raw["label"]);
  return {
    label,
    documentation: cutText(said(ground, contentsOf(raw["documentation"])), DOCUMENTATION_CHARACTERS),
    parameters: objectsOf(raw["parameters"] ?? []).map((one) => parameterOf(one["label"], label)),
    active,
    activeParameter: typeof raw["activeParameter"] === "number" ? numberOf(raw["activeParameter"]) : parameter,
  };
}

/** A text, or where it stands in the signature's label. */
function parameterOf(label: unknown, whole: string): string {
  if (!Array.isArray(label)) return textOf(label);
  return whole.slice(numberOf(label[0]), numberOf(label[1]));
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;
}
