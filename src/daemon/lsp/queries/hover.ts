import { cutText } from "../../base/index.ts";
import { handlerOf } from "./ground.ts";
import { said } from "./locations.ts";
import { isObject, rangeOf, textOf } from "./raw.ts";
import { type Ability, documentOf, placeParams } from "./types.ts";

/** Characters of what is told. */
const MOST_CHARACTERS = 20_000;

const HOVER = { capability: "hoverProvider", method: "textDocument/hover" } as const satisfies Ability;

/** What a server has to say of a place: types and documentation. "" when it has nothing to say. */
export const hover = handlerOf({
  about: "place",
  ability: HOVER,
  indexing: "partial",
  across: "changes",
  async find(ground) {
    const answer = await ground.request(HOVER.method, placeParams(ground));
    if (!isObject(answer)) return { kind: "hover", text: "", span: undefined };
    const text = said(ground, contentsOf(answer["contents"]));
    if (text.length > MOST_CHARACTERS) ground.partial(`the first ${MOST_CHARACTERS} characters of ${text.length}`);
    const range = rangeOf(answer["range"]);
    const span = range === undefined ? undefined : documentOf(ground).text.span(range, ground.encoding);
    return { kind: "hover", text: cutText(text, MOST_CHARACTERS), span };
  },
});

/** The text of MarkupContent, a MarkedString or a list of these: code in a fence with its language. */
export function contentsOf(contents: unknown): string {
  if (Array.isArray(contents)) {
    return contents
      .map(contentsOf)
      .filter((one) => one !== "")
      .join("\n\n");
  }
  if (!isObject(contents)) return textOf(contents);
  const value = textOf(contents["value"]);
  const language = contents["language"];
  return typeof language === "string" && value !== "" ? `\`\`\`${language}\n${value}\n\`\`\`` : value;
}
