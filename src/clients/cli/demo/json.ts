import type { JsonValue } from "../../sdk/index.ts";
import type { Output } from "../output.ts";

/** Columns a line may take. */
const WIDTH = 118;

/** A message as JSON for a person: fields side by side as far as they fit, and colours that tell names from values on a terminal. */
export function readable(value: JsonValue, out: Output): string {
  return layout(value, out, 0, 0);
}

/** `indent` is that of the line the value begins on, `taken` how much of the line stands before the value. */
function layout(value: JsonValue, out: Output, indent: number, taken: number): string {
  if (typeof value === "string") return out.style("green", JSON.stringify(value));
  if (typeof value !== "object" || value === null) return out.style("yellow", JSON.stringify(value));
  const inner = indent + 2;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([name, item]) => {
    const key = isList ? "" : `${JSON.stringify(name)}: `;
    const shownKey = isList ? "" : `${out.style("cyan", key.slice(0, -2))}: `;
    return {
      shown: shownKey + layout(item as JsonValue, out, inner, key.length),
      length: key.length + inlineLength(item as JsonValue),
    };
  });
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (indent + taken + inlineLength(value) <= WIDTH) return `${open}${parts.map((part) => part.shown).join(", ")}${close}`;
  const pad = `\n${" ".repeat(inner)}`;
  let body = "";
  let column = WIDTH;
  for (const { shown, length } of parts) {
    const fits = column + 2 + length < WIDTH;
    if (body !== "") body += fits ? ", " : ",";
    body += (fits ? "" : pad) + shown;
    column = fits ? column + 2 + length : inner + length;
  }
  return `${open}${body}\n${" ".repeat(indent)}${close}`;
}

/** Columns of a value on one line: JSON with a blank after each comma and colon. */
function inlineLength(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return JSON.stringify(value).length;
  const parts = Array.isArray(value)
    ? value.map(inlineLength)
    : Object.entries(value).map(([name, item]) => JSON.stringify(name).length + 2 + inlineLength(item));
  return 2 + parts.reduce((sum, length) => sum + length, 0) + 2 * Math.max(0, parts.length - 1);
}
