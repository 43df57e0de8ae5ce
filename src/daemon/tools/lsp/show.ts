import { GinError } from "../../base/index.ts";
import type { Call, EditedFile, FileDiagnostics, Location, LspAction, LspAnswer, Place, SymbolNode } from "../../lsp/index.ts";
import type { JsonMap, ReadContext, ToolResult } from "../types.ts";

/** Items of a list that are shown; what is beyond is counted. */
const MOST = 100;
/** Bytes of a content around a location that are read at all. */
const AROUND_BYTES = 1024 * 1024;

/** An answer as text for a model, and what it says of itself in `meta`. */
export async function showAnswer(action: LspAction, answer: LspAnswer, context: ReadContext): Promise<ToolResult> {
  const body = await bodyOf(action, answer, context);
  const head = answer.partial ? `partial: ${answer.note}\n` : "";
  return { result: `${head}${body}`, meta: factsOf(answer) };
}

/** What an answer says of itself. */
function factsOf(answer: LspAnswer): JsonMap {
  return {
    server: answer.server,
    state: answer.state,
    ...(answer.sha256 === "" ? {} : { sha256: answer.sha256 }),
    generation: answer.generation,
    ...(answer.partial ? { partial: true } : {}),
    ...(answer.note === "" ? {} : { note: answer.note }),
  };
}

async function bodyOf(action: LspAction, { found, sha256 }: LspAnswer, context: ReadContext): Promise<string> {
  switch (found.kind) {
    case "locations": {
      const { items, total } = found.locations;
      const lines = action === "references" ? 1 : 2;
      const shown = await locationTexts(items.slice(0, MOST), lines, context);
      return listText(shown, total, action === "references" ? "reference" : "location", "\n");
    }
    case "hover":
      return found.text === "" ? "nothing is known of this place" : found.text;
    case "symbols":
      return found.symbols.items.map((node) => symbolText(node, 0)).join("\n") || "no symbols";
    case "diagnostics":
      return found.files.items.map(diagnosticsText).join("\n");
    case "calls":
      return listText(found.calls.items.slice(0, MOST).map(callText), found.calls.total, "call", "\n");
    case "edit":
      return `would change ${counted(found.plan.files.length, "file")} (${sha256.slice(0, 12)})\n${found.plan.files.map(editText).join("\n")}`;
    default:
      throw new GinError("INTERNAL", `${action} was asked and ${found.kind} came`);
  }
}

function listText(shown: readonly string[], total: number, what: string, between: string): string {
  const more = total > shown.length ? `\n… ${total - shown.length} more; Lsp pages through all of them` : "";
  return `${counted(total, what)}${shown.length === 0 ? "" : `\n${shown.join(between)}`}${more}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function at(path: string, { line, character }: Place): string {
  return `${path}:${line}:${character}`;
}

async function locationTexts(locations: readonly Location[], around: number, context: ReadContext): Promise<string[]> {
  const texts: string[] = [];
  let read: { readonly from: Location; readonly lines: string[] | undefined } | undefined;
  for (const one of locations) {
    // They come file by file: each is read once, and one is held at a time.
    if (read?.from.path !== one.path || read.from.sha256 !== one.sha256) read = { from: one, lines: await linesOf(one, context) };
    texts.push(locationText(one, around, read.lines));
  }
  return texts;
}

/** A location with lines around it; of one whose content is another by now, or lies outside, its own line. */
function locationText(location: Location, around: number, lines: readonly string[] | undefined): string {
  const head = `${at(location.path, location.span.start)}${location.outside ? ` (outside the workspace, view ${location.view})` : ""}`;
  const { line } = location.span.start;
  if (lines === undefined) return location.excerpt === "" ? head : `${head}\n> ${line} ${location.excerpt}`;
  const from = Math.max(1, line - around);
  const part = lines.slice(from - 1, line + around);
  return [head, ...part.map((text, index) => `${from + index === line ? ">" : " "} ${from + index} ${text.slice(0, 200)}`)].join(
    "\n",
  );
}

/** Of a location whose content is still there. */
async function linesOf(
  { path, sha256, outside }: Location,
  { workspace, authorise, signal }: ReadContext,
): Promise<string[] | undefined> {
  if (outside) return undefined;
  const read = await workspace.readHead(path, { authorise, content: true, signal }).catch((thrown: unknown) => {
    if (thrown instanceof GinError && thrown.reason === "PATH_NOT_FOUND") return undefined;
    throw thrown;
  });
  if (read === undefined) return undefined;
  if (read.kind === "large") read.close();
  if (read.kind !== "file" || read.content.sha256 !== sha256 || read.bytes.byteLength > AROUND_BYTES) return undefined;
  return Buffer.from(read.bytes)
    .toString("utf8")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/);
}

function symbolText(node: SymbolNode, depth: number): string {
  const { line, character } = node.selection.start;
  const own = `${"  ".repeat(depth)}${titled(node.kind)} ${node.name} (line ${line}:${character})`;
  return [own, ...node.children.map((child) => symbolText(child, depth + 1))].join("\n");
}

/** "enum_member" as "Enum member". */
function titled(kind: string): string {
  return kind.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
}

function diagnosticsText({ path, diagnostics, refused }: FileDiagnostics): string {
  if (refused !== undefined) return `${path}: not known: ${refused.message}`;
  if (diagnostics.length === 0) return `${path}: none`;
  const lines = diagnostics.slice(0, MOST).map(({ span, severity, message, source, code }) => {
    const from = [source, code].filter((one) => one !== "").join(" ");
    return `${at(path, span.start)}: ${severity}: ${message}${from === "" ? "" : ` [${from}]`}`;
  });
  return listText(lines, diagnostics.length, "diagnostic", "\n");
}

function callText({ name, kind, location, sites }: Call): string {
  const places = sites.map(({ span }) => `${span.start.line}:${span.start.character}`).join(", ");
  return `${titled(kind)} ${name} ${at(location.path, location.span.start)}${places === "" ? "" : ` (calls at ${places})`}`;
}

function editText(file: EditedFile): string {
  const moved = file.renamedTo === "" ? "" : ` → ${file.renamedTo}`;
  const whole = file.deleted ? " (deleted)" : file.created ? " (new)" : "";
  const changes = file.changes.map(({ span, newText }) => `  ${span.start.line}:${span.start.character}: ${newText}`);
  return [`${file.path}${moved}${whole}`, ...changes].join("\n");
}
