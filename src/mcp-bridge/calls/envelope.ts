import { isObject, type JsonObject, type JsonValue, toolEnvelope } from "../../clients/sdk/index.ts";
import type { Callable } from "../catalog/types.ts";

/** A block of an answer that is no text. */
export interface Image {
  readonly data: string;
  readonly mimeType: string;
}

/** A tool envelope as MCP carries it. Text and structured content are each enough alone: hosts show their models the one or the other. */
export interface EnvelopeAnswer {
  readonly texts: readonly string[];
  readonly images: readonly Image[];
  /** The envelope as `gin tool` prints it. */
  readonly structured: JsonObject;
  readonly isError: boolean;
}

/** What a CallToolResponse to a call with the arguments `given` says: its result or error for a reader, then as JSON what else it holds. */
export function envelopeAnswer(tool: Callable, given: JsonObject, response: JsonObject): EnvelopeAnswer {
  const { next_call: next, ...envelope } = toolEnvelope(response);
  const goesOn = isObject(next) ? (tool.nextCall ?? same)(next, given) : undefined;
  return shownEnvelope({ ...envelope, ...(goesOn !== undefined && { next_call: goesOn }) });
}

/** An envelope in the forms MCP has for it. */
export function shownEnvelope(structured: JsonObject): EnvelopeAnswer {
  const { ok, result, content, error, suggestion, risk: _risk, ...rest } = structured;
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  const texts = ok === true ? [result, ...blocks.map(({ text }) => text)] : [refusal(error, suggestion)];
  const said = texts.filter((text): text is string => typeof text === "string" && text !== "");
  return {
    texts: Object.keys(rest).length === 0 ? orNothing(said) : [...said, JSON.stringify(rest)],
    images: blocks.flatMap(({ data, mimeType }) =>
      typeof data === "string" && typeof mimeType === "string" ? [{ data, mimeType }] : [],
    ),
    structured,
    isError: ok !== true,
  };
}

/** Bytes of text a host shows its model: of the structure or of the texts, whichever is more. Images are no text. */
export function sizeOf({ texts, images, structured }: EnvelopeAnswer): number {
  const { content: _content, ...withoutImages } = structured;
  const json = JSON.stringify(images.length > 0 ? withoutImages : structured);
  return Math.max(
    Buffer.byteLength(json),
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  );
}

const same = (next: JsonObject): JsonObject => next;

function refusal(error: JsonValue | undefined, suggestion: JsonValue | undefined): string {
  const told = typeof error === "string" ? error : "refused";
  return typeof suggestion === "string" && suggestion !== "" ? `${told}\n${suggestion}` : told;
}

/** Some hosts break on an answer without a text. */
function orNothing(texts: readonly string[]): readonly string[] {
  return texts.length === 0 ? ["(empty)"] : texts;
}
