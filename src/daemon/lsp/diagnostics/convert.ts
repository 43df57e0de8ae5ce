import type { Range } from "vscode-languageserver-protocol";
import { cutText } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import { withoutRoot } from "../queries/locations.ts";
import { comparePositions, isObject, type Raw } from "../queries/raw.ts";
import type { Encoding } from "../session/types.ts";
import type { Diagnostic } from "../types.ts";

/** Characters of a message that are passed on. */
const MESSAGE_CHARACTERS = 4_000;
const SHORT_CHARACTERS = 200;

/** By LSP's numbers; what comes without one is an error, as the protocol leaves it to the client. */
const SEVERITIES: readonly Diagnostic["severity"][] = ["error", "error", "warning", "information", "hint"];

/**
 * Diagnostics as callers see them, in the order of the text. None is left out, as nothing would be said of it then: one without a place is about the beginning. The root's absolute
 * path is taken out of what they say.
 */
export function diagnosticsIn(items: readonly unknown[], text: Text, encoding: Encoding, root: string): readonly Diagnostic[] {
  const found = items.filter(isObject).map((raw) => diagnosticOf(raw, text, encoding, root));
  const byPlace = ({ span: a }: Diagnostic, { span: b }: Diagnostic) =>
    a.start.line - b.start.line || a.start.character - b.start.character;
  return found.sort(byPlace);
}

function diagnosticOf(raw: Raw, text: Text, encoding: Encoding, root: string): Diagnostic {
  const { code, source, message, severity } = raw;
  return {
    span: text.span(rangeIn(raw["range"]), encoding),
    severity: (typeof severity === "number" ? SEVERITIES[severity] : undefined) ?? "error",
    code: typeof code === "string" || typeof code === "number" ? cutText(String(code), SHORT_CHARACTERS) : "",
    source: typeof source === "string" ? cutText(withoutRoot(root, source), SHORT_CHARACTERS) : "",
    message: cutText(withoutRoot(root, messageOf(message)), MESSAGE_CHARACTERS),
  };
}

/** A range; where it has numbers that are none, or less than none, the beginning. */
function rangeIn(value: unknown): Range {
  const [start, end] = ["start", "end"].map((name) => {
    const position = isObject(value) && isObject(value[name]) ? value[name] : {};
    const [line, character] = [position["line"], position["character"]].map((one) => (typeof one === "number" ? one : 0));
    return { line: line ?? 0, character: character ?? 0 };
  });
  const first = start ?? { line: 0, character: 0 };
  return { start: first, end: end === undefined || comparePositions(end, first) < 0 ? first : end };
}

function messageOf(message: unknown): string {
  if (typeof message === "string") return message;
  return isObject(message) && typeof message["value"] === "string" ? message["value"] : "";
}

/** Diagnostics that are new, and how many went: by what they say, not by where, as lines move. */
export function deltaOf(
  before: readonly Diagnostic[],
  after: readonly Diagnostic[],
): { readonly introduced: readonly Diagnostic[]; readonly resolved: number } {
  const left = new Map<string, number>();
  for (const one of before) left.set(saying(one), (left.get(saying(one)) ?? 0) + 1);
  const introduced = after.filter((one) => {
    const count = left.get(saying(one)) ?? 0;
    if (count > 0) left.set(saying(one), count - 1);
    return count === 0;
  });
  return { introduced, resolved: [...left.values()].reduce((sum, count) => sum + count, 0) };
}

function saying({ severity, code, source, message }: Diagnostic): string {
  return JSON.stringify([severity, code, source, message]);
}
