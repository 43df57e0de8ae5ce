import { GinError } from "../../base/index.ts";
import type { LspAction } from "../../lsp/index.ts";
import { textArg } from "../args.ts";
import { toolPath } from "../files/path.ts";
import type { JsonMap, ReadContext, ToolResult } from "../types.ts";
import { TOOL_ACTIONS } from "./schema.ts";
import { showAnswer } from "./show.ts";

/** Actions about a whole file: they need no place. */
const WHOLE: readonly LspAction[] = ["symbols", "diagnostics"];

/** Asks one question of checked arguments and shows its answer. Throws INVALID_REQUEST for arguments that do not go together, and what the room throws. */
export async function askServer(args: JsonMap, context: ReadContext, timeoutMs: number): Promise<ToolResult> {
  context.requireScope("lsp");
  const action = TOOL_ACTIONS.find((one) => one === args.action);
  if (action === undefined) throw invalid("action", `must be one of ${TOOL_ACTIONS.join(", ")}`);
  const path = toolPath(textArg(args, "path"));
  const place = placeOf(args);
  if (!WHOLE.includes(action)) checkPlace(args, action, path);
  if (action === "rename" && textArg(args, "new_name") === "") throw invalid("new_name", "rename needs the new name");
  const asked = {
    action,
    path,
    ...(WHOLE.includes(action) ? {} : place),
    ...(action === "rename" ? { newName: textArg(args, "new_name") } : {}),
    ...(textArg(args, "if_checksum") === "" ? {} : { ifHash: textArg(args, "if_checksum") }),
    timeoutMs,
  };
  const answer = await context.servers.ask(asked).catch((thrown: unknown) => {
    if (!(thrown instanceof GinError) || !["SYMBOL_NOT_FOUND", "SYMBOL_AMBIGUOUS"].includes(thrown.reason)) throw thrown;
    const { reason, message, suggestion, facts } = thrown;
    throw new GinError(reason, message, suggestion, { facts, cause: thrown, nextCall: symbolsOf(path) });
  });
  return await showAnswer(action, answer, context);
}

function placeOf(args: JsonMap): { readonly line?: number; readonly character?: number; readonly symbol?: string } {
  const symbol = textArg(args, "symbol");
  return {
    ...(typeof args.line === "number" ? { line: args.line } : {}),
    ...(typeof args.character === "number" ? { character: args.character } : {}),
    ...(symbol === "" ? {} : { symbol }),
  };
}

/** Where the names are to be had. */
function symbolsOf(path: string) {
  return { tool: "lsp_query", arguments: { action: "symbols", path } };
}

function checkPlace(args: JsonMap, action: LspAction, path: string): void {
  const symbol = textArg(args, "symbol") !== "";
  if (args.character !== undefined && args.line === undefined) throw invalid("line", "a character is one of a line");
  if (symbol || (args.line !== undefined && args.character !== undefined)) return;
  const missing = args.line === undefined ? "line" : "character";
  throw new GinError("INVALID_REQUEST", `args/${missing}: ${action} needs line and character, or symbol`, undefined, {
    facts: { field: `args/${missing}` },
    nextCall: symbolsOf(path),
  });
}

function invalid(name: string, says: string): GinError {
  return new GinError("INVALID_REQUEST", `args/${name}: ${says}`, undefined, { facts: { field: `args/${name}` } });
}
