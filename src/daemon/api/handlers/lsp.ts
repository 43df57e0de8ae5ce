import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type LspBatchItemSchema,
  type LspBatchRequest,
  LspBatchResponseSchema,
  type LspRequest,
  type LspResponse,
  LspResponseSchema,
} from "../../../gen/gin/v1/lsp_pb.ts";
import { toGinError } from "../../base/index.ts";
import { mayTouch } from "../../policy/index.ts";
import { toErrorDetail } from "../errors.ts";
import { type Ground, type Handlers, type Invocation, stateIn, stateOf, targetOf } from "../invocation.ts";
import { checkSize, invalid, LIMITS } from "../limits.ts";
import { contentOf, type Fields, factsOf, toVerified } from "./lsp-answer.ts";
import { applyEdit } from "./lsp-apply.ts";
import { askOf, timeoutOf } from "./lsp-ask.ts";
import { LspPages, type Reader } from "./lsp-pages.ts";

/** Lsp and LspBatch: form, rights, pages and the save are here; what is asked of which server is the room's. */
export function lspHandlers(ground: Ground): Pick<Handlers, "lsp" | "lspBatch"> {
  const pages = new LspPages(ground.cursors, ground.random);
  return {
    lsp: (request, call) => (request.apply ? apply(ground, pages, request, call) : ask(ground, pages, request, call)),
    lspBatch: (request, call) => batch(ground, pages, request, call),
  };
}

/** Lines of a view, or items of anything else. */
function sizeOf(request: LspRequest): number {
  const standard = request.action === "view" ? LIMITS.list_max_entries : LIMITS.list_default_entries;
  return request.pageSize ?? standard.value;
}

function readerOf(request: LspRequest, call: Pick<Invocation, "caller" | "target">): Reader {
  const { caller } = call;
  return {
    principal: caller.principal,
    workspace: targetOf(call).id,
    action: request.action,
    visible: (path) => mayTouch(caller, path),
  };
}

async function ask(
  ground: Ground,
  pages: LspPages,
  request: LspRequest,
  call: Invocation,
  within: { readonly timeoutMs?: number; readonly field?: string } = {},
): Promise<LspResponse> {
  const target = targetOf(call);
  const asking = {
    workspace: ground.lsp.of(target, target.workspace),
    caller: call.caller,
    signal: call.signal,
    ...(within.timeoutMs === undefined ? {} : { timeoutMs: within.timeoutMs }),
  };
  const question = askOf(request, asking, within.field);
  const reader = readerOf(request, call);
  const answered = async (): Promise<Fields> => {
    if (request.cursor !== "") {
      if (question.path !== "") question.authorise(question.workspace.canonical(question.path));
      return pages.next(reader, request.cursor, sizeOf(request));
    }
    const answer = await ground.lsp.ask(question);
    return pages.first(reader, factsOf(answer), contentOf(answer.found, call.caller), sizeOf(request));
  };
  const fields = await answered();
  return create(LspResponseSchema, { ...stateIn(call), action: request.action, ...fields, requestId: request.requestId });
}

function apply(ground: Ground, pages: LspPages, request: LspRequest, call: Invocation<"lsp">): Promise<LspResponse> {
  const target = targetOf(call);
  const asking = { workspace: ground.lsp.of(target, target.workspace), caller: call.caller, signal: call.signal };
  const question = askOf(request, asking);
  const reader = readerOf(request, call);
  return applyEdit(ground, request, call, question, ({ answer, outcome, verified }) => {
    const fields = pages.first(reader, factsOf(answer), contentOf(answer.found, call.caller), LIMITS.list_max_entries.value);
    return create(LspResponseSchema, {
      ...(outcome === undefined ? stateIn(call) : { state: stateOf(outcome.state) }),
      action: request.action,
      ...fields,
      // The whole of it is in the checkpoint.
      nextCursor: "",
      checkpoint: outcome?.checkpoint ?? "",
      noChange: outcome?.noChange ?? true,
      ...(verified === undefined ? {} : { verified: toVerified(verified) }),
      requestId: request.requestId,
    });
  });
}

async function batch(ground: Ground, pages: LspPages, request: LspBatchRequest, call: Invocation<"lspBatch">) {
  const { queries } = request;
  if (queries.length === 0) throw invalid("queries", "must hold 1 to 20 questions");
  checkSize("lsp_batch", queries.length, "queries");
  const timeoutMs = timeoutOf(request.timeoutMs, LIMITS.lsp_batch_timeout_default_ms.value, "timeout_ms");
  for (const [index, query] of queries.entries()) {
    const field = `queries[${index}]`;
    if (query.apply) throw invalid(`${field}.apply`, "a batch saves nothing: send the edit alone");
    for (const name of ["repository", "workspace"] as const) {
      if (query[name] !== "" && query[name] !== request[name]) throw invalid(`${field}.${name}`, "is the batch's");
    }
  }
  const items = await Promise.all(
    queries.map(async (query, index): Promise<MessageInitShape<typeof LspBatchItemSchema>> => {
      try {
        return { response: await ask(ground, pages, query, call, { timeoutMs, field: `queries[${index}].` }) };
      } catch (thrown) {
        const error = toGinError(thrown);
        if (error.reason === "INTERNAL")
          ground.log.error({ err: error.cause ?? error, index }, "a question of a batch failed inside gin");
        return { error: toErrorDetail(error) };
      }
    }),
  );
  const failed = items.filter((item) => item.error !== undefined).length;
  return create(LspBatchResponseSchema, { ...stateIn(call), items, succeeded: items.length - failed, failed });
}
