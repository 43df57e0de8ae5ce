import type { LspRequest, LspResponse } from "../../../gen/gin/v1/lsp_pb.ts";
import { GinError, toGinError } from "../../base/index.ts";
import type { EditPlan, LspAnswer, LspAsk, Verified } from "../../lsp/index.ts";
import { requireScope } from "../../policy/index.ts";
import type { RequestRow } from "../../store/index.ts";
import type { SaveInput, SaveOutcome } from "../../workspace/index.ts";
import { type Ground, type Invocation, targetOf } from "../invocation.ts";
import { checkSize, LIMITS, utf8Bytes } from "../limits.ts";
import { fenceOf, saverOf } from "./save.ts";

/** How often an edit is worked out anew because something changed between it and its save. */
const ATTEMPTS = 3;

/** What came of an edit that was saved. */
export interface Applied {
  readonly answer: LspAnswer;
  readonly outcome: SaveOutcome | undefined;
  readonly verified: Verified | undefined;
}

/** Makes the answer of an edit; `verified` is not known yet when it is stored. */
export type Answering = (applied: Applied) => LspResponse;

/**
 * Has an edit worked out and saves it as one checkpoint, each path expected as the server saw it; then looks what came of it. What is committed
 * is never reported as a failure, whatever the server says afterwards.
 */
export async function applyEdit(
  ground: Ground,
  request: LspRequest,
  call: Invocation<"lsp">,
  question: LspAsk,
  answering: Answering,
): Promise<LspResponse> {
  requireScope(call.caller, "save");
  checkSize("save_message_bytes", utf8Bytes(request.message), "message");
  fenceOf(request.leaseIncarnation, request.leaseEpoch);
  let asked = question;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ground.lsp.ask(asked);
    const plan = planOf(answer);
    const respond = (outcome: SaveOutcome | undefined, verified?: Verified) => answering({ answer, outcome, verified });
    if (plan.edits.length === 0) {
      await ground.store.write("request", rowOf(call, respond(undefined)));
      return respond(undefined);
    }
    try {
      const outcome = await targetOf(call).workspace.save(
        inputOf(ground, request, call, plan, (done) => rowOf(call, respond(done))),
      );
      return respond(outcome, await verified(plan, question));
    } catch (thrown) {
      const raced = thrown instanceof GinError && thrown.reason === "STALE_CONTENT";
      if (!raced || attempt === ATTEMPTS || question.ifHash !== undefined) throw thrown;
      // A line is one of the content it was asked about: something else may stand there by now.
      if (question.line !== undefined && answer.sha256 !== "") asked = { ...question, ifHash: answer.sha256 };
    }
  }
}

function planOf({ found, server }: LspAnswer): EditPlan {
  if (found.kind === "edit") return found.plan;
  throw new GinError("INTERNAL", `${server} was asked for an edit and ${found.kind} came`);
}

/** Whatever keeps it from being looked at is said: the save stands. */
async function verified(plan: EditPlan, { signal }: LspAsk): Promise<Verified> {
  try {
    return await plan.verify(signal);
  } catch (thrown) {
    return { introduced: [], resolved: 0, note: `not verified: ${toGinError(thrown).message}` };
  }
}

/** The outcome's row; the changes of an answer too long to be kept, and where even that is too long its files, are in the checkpoint. */
function rowOf(call: Invocation<"lsp">, response: LspResponse): RequestRow {
  const fits = ({ answer }: RequestRow): boolean => answer.byteLength <= LIMITS.answer_kept_bytes.value;
  const row = call.remember(response);
  if (fits(row)) return row;
  const files = response.files.map((file) => ({ ...file, changes: [] }));
  const short = call.remember(response, { ...response, files });
  return fits(short) ? short : call.remember(response, { ...response, files: [] });
}

function inputOf(
  ground: Ground,
  request: LspRequest,
  call: Invocation<"lsp">,
  plan: EditPlan,
  remember: (outcome: SaveOutcome) => RequestRow,
): SaveInput {
  return {
    ...saverOf(ground, request, call.caller),
    edits: plan.edits,
    onConflict: "refuse",
    message: request.message === "" ? plan.title.slice(0, 200) : request.message,
    dryRun: false,
    cause: "tool",
    remember,
    signal: call.signal,
  };
}
