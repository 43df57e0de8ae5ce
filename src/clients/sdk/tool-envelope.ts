import { isObject, type JsonObject, type JsonValue } from "./errors.ts";

/** Fields of the envelope that are texts, in its order; `meta` and `next_call` stand between them. */
const TEXTS = ["error", "error_code", "suggestion", "classification", "risk", "request_id"] as const;

/**
 * A CallToolResponse in JSON as the one-shot protocol prints it, and as the MCP profile `tools` gives it: ok, result, content, meta, error,
 * error_code, suggestion, classification, risk, request_id, next_call, in this order, empty ones left out. What gin says besides stands in
 * `meta`: `facts` of a refusal, `checkpoint`, `replayed`.
 */
export function toolEnvelope(answer: JsonObject): JsonObject {
  const content = Array.isArray(answer.content) ? answer.content.map(block) : [];
  const meta: JsonObject = {
    ...(isObject(answer.meta) ? answer.meta : {}),
    ...(isFilled(answer.facts) && { facts: answer.facts }),
    ...(isFilled(answer.checkpoint) && { checkpoint: answer.checkpoint }),
    ...(answer.replayed === true && { replayed: true }),
  };
  const envelope: JsonObject = { ok: answer.ok === true };
  const put = (name: string, value: JsonValue | undefined): void => {
    if (isFilled(value)) envelope[name] = value;
  };
  put("result", answer.result);
  put("content", content);
  put("meta", meta);
  for (const name of TEXTS) put(name, answer[name]);
  put("next_call", answer.next_call);
  return envelope;
}

/** What is worth a field: no empty text, list or object. */
function isFilled(value: JsonValue | undefined): value is JsonValue {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** A content block as MCP spells it: `data` in base64, `mimeType`. */
function block(value: JsonValue): JsonObject {
  if (!isObject(value)) return {};
  const { type = "text", text, data, mime_type } = value;
  if (type !== "image") return { type: "text", text: text ?? "" };
  return { type, data: data ?? "", mimeType: mime_type ?? "" };
}
