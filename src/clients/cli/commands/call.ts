import { isObject, type JsonObject, prepare, UsageError } from "../../sdk/index.ts";
import { type Command, flag } from "../command.ts";
import { EXIT } from "../run.ts";

/** Sends one `gin.v1.Request` and prints the `gin.v1.Response`. */
export const command: Command = {
  usage: "call --json REQUEST|-",
  flags: { json: { type: "string" } },
  help: [["--json REQUEST|-", 'a gin.v1.Request, as {"read_path":{"path":"README.md"}}; - reads it from standard input']],
  async run(context) {
    const source = flag(context, "json");
    if (source === undefined) throw new UsageError("usage: gin call --json REQUEST|-");
    const text = source === "-" ? (await context.stdin()).toString("utf8") : source;
    const { request, requestId, operation } = prepare(parse(text));
    const response = await context.session().call(request);
    context.out.json(response);
    if (!isObject(response.error)) return;
    // A minted id is nowhere in an error: told here, so that RequestOutcome can be asked and the identical request repeated.
    if (requestId !== undefined && !text.includes(requestId))
      context.err.line(`gin: ${operation} was sent as request ${requestId}`);
    return EXIT.refused;
  },
};

function parse(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new UsageError(`the request is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  if (!isObject(parsed)) throw new UsageError('a request is an object, as {"read_path":{"path":"README.md"}}');
  return parsed;
}
