import type { LspRequest } from "../../../gen/gin/v1/lsp_pb.ts";
import type { Caller } from "../../base/index.ts";
import { LSP_ACTIONS, type LspAction, type LspAsk, type LspWorkspace, type SpeculativeEdit } from "../../lsp/index.ts";
import { mayTouch } from "../../policy/index.ts";
import { checkMost, checkSize, invalid, isHash, LIMITS, utf8Bytes } from "../limits.ts";
import { requirePath } from "../resolve.ts";

/** Actions about a place in a file. */
const AT_A_PLACE: readonly LspAction[] = [
  "definition",
  "type_definition",
  "implementation",
  "references",
  "hover",
  "incoming_calls",
  "outgoing_calls",
  "rename",
  "signature",
  "completion",
];

/** Actions about a file. */
const OF_A_FILE: readonly LspAction[] = [...AT_A_PLACE, "symbols", "code_actions", "format", "organize_imports"];

/** Actions that end in an edit, and so may be saved. */
const EDITS: readonly LspAction[] = ["rename", "code_actions", "format", "organize_imports"];

/** What a question stands on beside its message. */
export interface Asking {
  readonly workspace: LspWorkspace;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Milliseconds there are when the message does not say, and the most there are. */
  readonly timeoutMs?: number;
}

/** A request as the room takes it, its form checked. `field` names where it stands in a batch. Throws INVALID_REQUEST, TOO_LARGE. */
export function askOf(request: LspRequest, asking: Asking, field = ""): LspAsk {
  const action = actionOf(request, field);
  const at = (name: string): string => `${field}${name}`;
  checkSize("path_bytes", utf8Bytes(request.path), at("path"));
  checkSize("lsp_symbol_bytes", utf8Bytes(request.symbol), at("symbol"));
  checkSize("lsp_symbol_bytes", utf8Bytes(request.newName), at("new_name"));
  checkSize("lsp_query_bytes", utf8Bytes(request.query), at("query"));
  checkSize("lsp_paths", request.paths.length, at("paths"));
  checkSize("list_max_entries", request.only.length, at("only"));
  if (request.ifHash !== "" && !isHash(request.ifHash)) throw invalid(at("if_hash"), "must be a SHA-256 in lower-case hex");
  const byName = AT_A_PLACE.includes(action) && request.symbol !== "" && request.line === undefined;
  if (OF_A_FILE.includes(action) && request.path === "" && !byName) throw invalid(at("path"), `${action} is about a file`);
  checkPlace(request, action, at);
  if (action === "rename" && request.newName === "") throw invalid(at("new_name"), "rename needs the new name");
  if (action === "view" && request.view === "") throw invalid(at("view"), "must be the view of a location outside");
  if (request.apply && !EDITS.includes(action)) throw invalid(at("apply"), `${action} changes nothing that could be saved`);
  if (request.apply && action === "code_actions" && request.codeAction === "")
    throw invalid(at("code_action"), "which one is to be saved? Ask for code_actions first");
  if (request.apply && request.cursor !== "") throw invalid(at("cursor"), "a save has no pages");
  checkPage(request, at);
  const { workspace, caller, signal } = asking;
  return {
    workspace,
    action,
    path: request.path,
    ...given("line", request.line),
    ...given("character", request.character),
    ...given("endLine", request.endLine),
    ...given("endCharacter", request.endCharacter),
    ...text("symbol", request.symbol),
    ...text("ifHash", request.ifHash),
    ...(action === "workspace_symbols" ? { query: request.query } : {}),
    ...text("newName", request.newName),
    ...(request.only.length === 0 ? {} : { only: request.only }),
    ...text("codeAction", request.codeAction),
    ...given("includeDeclaration", request.includeDeclaration),
    ...(request.paths.length === 0 ? {} : { paths: request.paths }),
    ...text("checkpoint", request.checkpoint),
    ...(action === "check" ? { edits: trialsOf(request, at) } : {}),
    ...text("view", request.view),
    ...text("server", request.server),
    authorise: (path) => requirePath(caller, path),
    visible: (path) => mayTouch(caller, path),
    signal,
    timeoutMs: Math.min(
      timeoutOf(request.timeoutMs, asking.timeoutMs ?? LIMITS.lsp_timeout_default_ms.value, at("timeout_ms")),
      asking.timeoutMs ?? Number.POSITIVE_INFINITY,
    ),
  };
}

/** Milliseconds a message gives, or `usual`. Throws INVALID_REQUEST for none and for more than there may be. */
export function timeoutOf(asked: number | undefined, usual: number, field: string): number {
  const given = asked ?? usual;
  if (given < 1) throw invalid(field, "must be at least 1");
  checkMost("lsp_timeout_max_ms", given, field);
  return given;
}

function actionOf(request: LspRequest, field: string): LspAction {
  const action = LSP_ACTIONS.find((one) => one === request.action);
  if (action === undefined) throw invalid(`${field}action`, `must be one of ${LSP_ACTIONS.join(", ")}`);
  return action;
}

function checkPlace(request: LspRequest, action: LspAction, at: (name: string) => string): void {
  const { line, character, endLine, endCharacter, symbol } = request;
  for (const [name, value] of Object.entries({ line, character, end_line: endLine, end_character: endCharacter })) {
    if (value === 0) throw invalid(at(name), "counts from 1");
  }
  if (character !== undefined && line === undefined) throw invalid(at("line"), "a character is one of a line");
  if (endCharacter !== undefined && endLine === undefined) throw invalid(at("end_line"), "a character is one of a line");
  if (endLine !== undefined && line === undefined) throw invalid(at("line"), "a range begins somewhere");
  if (!AT_A_PLACE.includes(action) || symbol !== "") return;
  if (line === undefined || character === undefined)
    throw invalid(at(line === undefined ? "line" : "character"), `${action} needs line and character, or symbol`);
}

function checkPage({ pageSize }: LspRequest, at: (name: string) => string): void {
  if (pageSize === undefined) return;
  if (pageSize < 1) throw invalid(at("page_size"), "must be at least 1");
  checkMost("list_max_entries", pageSize, at("page_size"));
}

function trialsOf(request: LspRequest, at: (name: string) => string): readonly SpeculativeEdit[] {
  const { trials } = request;
  if (trials.length === 0) throw invalid(at("trials"), "what is to be tried?");
  checkSize("lsp_trials", trials.length, at("trials"));
  checkSize(
    "lsp_trial_bytes",
    trials.reduce((sum, { text }) => sum + utf8Bytes(text), 0),
    at("trials"),
  );
  const seen = new Set<string>();
  return trials.map((trial, index) => {
    const field = at(`trials[${index}]`);
    if (trial.path === "") throw invalid(`${field}.path`, "must name a file");
    if (seen.has(trial.path)) throw invalid(`${field}.path`, "is tried twice");
    if (trial.delete && trial.text !== "") throw invalid(`${field}.text`, "what is deleted has no text");
    seen.add(trial.path);
    return { path: trial.path, text: trial.delete ? null : trial.text };
  });
}

function given<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in K]: V });
}

function text<K extends string>(name: K, value: string): { readonly [key in K]?: string } {
  return given(name, value === "" ? undefined : value);
}
