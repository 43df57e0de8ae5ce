import { EngineError, type JsonObject, TransportError, toolEnvelope, UnknownOutcomeError, UsageError } from "../../sdk/index.ts";
import { type Command, type Context, flag } from "../command.ts";
import { EXIT } from "../run.ts";
import { BadRequest, REQUEST_BYTES, readArguments, readRequest, type ToolRequest } from "../tool/request.ts";

const SHAPE = 'send one object, as {"tool":"read_file","args":{"path":"README.md"}}';

/** Codes of refusals that come from around the call and not from the tool. */
const CODES: { readonly [reason: string]: string } = {
  TOO_LARGE: "resource_limit",
  MALFORMED: "invalid_json",
  INVALID_REQUEST: "invalid_args",
};

/** Runs one tool and prints its envelope: from standard input as the one-shot protocol has it, or by name. */
export const command: Command = {
  usage: "tool [NAME [--json ARGS|-] [--compress] [--request-id ID]] [--schema]",
  words: [0, 1],
  flags: {
    json: { type: "string" },
    schema: { type: "boolean" },
    compress: { type: "boolean" },
    "request-id": { type: "string" },
  },
  help: [
    ["(no NAME)", 'one {"tool","args","client","compress","request_id"} object of at most 16 MiB from standard input'],
    ["NAME", "the tool; without --json it has no arguments"],
    ["--json ARGS|-", "its arguments as a JSON object; - reads them from standard input"],
    ["--schema", "print the function schema of the tools that can run"],
    ["--compress", "collapse repeated lines of the result"],
    ["--request-id ID", "your own id, the same for every retry; default: one is made for a tool that changes something"],
  ],
  async run(context) {
    const [name] = context.positionals;
    if (context.values.schema === true) return await schema(context, name);
    if (name === undefined && flag(context, "json") !== undefined)
      throw new UsageError("--json needs the NAME of a tool before it");
    if (name === undefined && context.typed()) {
      const { commandHelp } = await import("../help.ts");
      return commandHelp(context.out, "tool", command);
    }
    let requestId = "";
    try {
      const request = name === undefined ? readRequest(await context.stdin(REQUEST_BYTES)) : await named(context, name);
      requestId = request.requestId;
      const answer = await context.session().run("call_tool", message(request));
      const envelope = toolEnvelope(answer);
      context.out.json(envelope);
      return envelope.ok === true ? EXIT.done : EXIT.refused;
    } catch (thrown) {
      return await failed(context, thrown, requestId);
    }
  },
};

async function named(context: Context, tool: string): Promise<ToolRequest> {
  const given = flag(context, "json") ?? "{}";
  const bytes = given === "-" ? await context.stdin(REQUEST_BYTES) : Buffer.from(given);
  return {
    tool,
    args: readArguments(bytes),
    compress: context.values.compress === true,
    requestId: flag(context, "request-id") ?? "",
  };
}

function message({ tool, args, compress, requestId }: ToolRequest): JsonObject {
  return { tool, arguments: args, ...(compress && { compress }), ...(requestId !== "" && { request_id: requestId }) };
}

/** As the tool `list_tools` gives it, made here of ListTools: that needs no workspace, and a call of the tool does. */
async function schema(context: Context, name: string | undefined): Promise<undefined> {
  if (name !== undefined) throw new UsageError("--schema is of all tools: it takes no NAME");
  const { functionSchema } = await import("../tool/schema.ts");
  context.out.json(functionSchema(await context.session().run("list_tools", { include_schema: true })));
}

/** An envelope for whatever kept the tool from answering: a program that reads standard output never finds it empty. */
async function failed(context: Context, thrown: unknown, requestId: string): Promise<number> {
  const print = (error: string, error_code: string, suggestion: string, id: string): void =>
    context.out.json(toolEnvelope({ ok: false, error, error_code, suggestion, request_id: id }));
  if (thrown instanceof BadRequest) {
    print(thrown.message, thrown.code, SHAPE, thrown.requestId);
    return EXIT.refused;
  }
  if (thrown instanceof EngineError) {
    const { reason, message, suggestion } = thrown.detail;
    print(message, CODES[reason] ?? reason.toLowerCase(), suggestion, thrown.requestId ?? requestId);
    return EXIT.refused;
  }
  if (thrown instanceof UnknownOutcomeError) {
    const { sessionFlags } = await import("../again.ts");
    const asks = `gin outcome ${thrown.requestId}${sessionFlags(context.argv)}`;
    const tells = `it may or may not have happened: ${asks} tells, and the same call with the same request_id is safe`;
    print(`${thrown.message}: the outcome is unknown`, "outcome_unknown", tells, thrown.requestId);
    return EXIT.unknown;
  }
  if (thrown instanceof TransportError) {
    print(thrown.message, "not_sent", "nothing was changed: it can be asked again; gin doctor tells more", requestId);
    return EXIT.transport;
  }
  const { setupFault } = await import("../report.ts");
  const fault = setupFault(thrown);
  if (fault === undefined) throw thrown;
  print(fault.message, "not_sent", fault.suggestion || "nothing was sent: the message says what to set right", requestId);
  return fault.exit;
}
