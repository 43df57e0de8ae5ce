import { create, toJson } from "@bufbuild/protobuf";
import {
  type RedoRequest,
  RedoRequestSchema,
  type RedoResponse,
  RedoResponseSchema,
  type UndoRequest,
  UndoRequestSchema,
  type UndoResponse,
  UndoResponseSchema,
} from "../../../gen/gin/v1/undo_pb.ts";
import { GinError, type Json } from "../../base/index.ts";
import { planRestore, planUndo, type UndoPlan, type UndoView } from "../../history/index.ts";
import type { DetailRow, RequestRow } from "../../store/index.ts";
import { bounded, conflictFacts, currentPath, refusal, undoneFacts } from "../../tools/index.ts";
import type { SaveInput, SaveOutcome } from "../../workspace/index.ts";
import { type Ground, type Handlers, type Invocation, stateOf, type Target, targetOf } from "../invocation.ts";
import { checkSize, LIMITS, toCount, utf8Bytes } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { listBody } from "./details.ts";
import { fenceOf, leaseRequired, saverOf } from "./save.ts";
import { toUndonePath } from "./undo-answer.ts";
import { requireRight, type Selection, selectUndo, selectWork } from "./undo-select.ts";

/** How often an undo is planned anew because something changed between its plan and its save. */
const ATTEMPTS = 5;

/** Ids of taken-back checkpoints that an answer names. */
const SHOWN_UNDONE = 1_000;

/** Fields of an answer, the same for both operations. */
type Answer = Omit<UndoResponse, "$typeName" | "$unknown" | "state" | "paths"> & {
  readonly state: ReturnType<typeof stateOf>;
  readonly paths: ReturnType<typeof toUndonePath>[];
};

/** One operation of the two: what it takes back, and how its answer and its next call are made. */
interface Asked {
  readonly request: UndoRequest | RedoRequest;
  readonly cause: "undo" | "redo";
  readonly selection: Selection;
  /** The row of its outcome; `kept` is stored instead of an answer that is too long. */
  readonly remember: (answer: Answer, kept?: Answer) => RequestRow;
  /** The same request with skip_conflicts. */
  readonly skipping: () => { readonly [key: string]: Json };
}

/** Undo and Redo: what is taken back is found and merged here and in history; the workspace's engine saves it like any change. */
export function undoHandlers(ground: Ground): Pick<Handlers, "undo" | "redo"> {
  return {
    async undo(request, call) {
      const target = targetOf(call);
      checkForm(target, request);
      const answer = await takeBack(ground, target, call, {
        request,
        cause: "undo",
        selection: await selectWork(ground, target, call.caller, request.select),
        remember: (one, kept) => call.remember(undoResponse(one), kept === undefined ? undefined : undoResponse(kept)),
        skipping: () => ({ undo: asJson(toJson(UndoRequestSchema, { ...request, skipConflicts: true }, SNAKE)) }),
      });
      return undoResponse(answer);
    },
    async redo(request, call) {
      const target = targetOf(call);
      checkForm(target, request);
      const answer = await takeBack(ground, target, call, {
        request,
        cause: "redo",
        selection: selectUndo(ground, target, call.caller, request.undo),
        remember: (one, kept) => call.remember(redoResponse(one), kept === undefined ? undefined : redoResponse(kept)),
        skipping: () => ({ redo: asJson(toJson(RedoRequestSchema, { ...request, skipConflicts: true }, SNAKE)) }),
      });
      return redoResponse(answer);
    },
  };
}

const SNAKE = { useProtoFieldName: true } as const;

function asJson(value: unknown): Json {
  return value as Json;
}

function undoResponse(answer: Answer): UndoResponse {
  return create(UndoResponseSchema, answer);
}

function redoResponse(answer: Answer): RedoResponse {
  return create(RedoResponseSchema, answer);
}

/** Form, incarnation and epoch: before anything is looked for, so that a stale caller hears that first. */
function checkForm(target: Target, request: UndoRequest | RedoRequest): void {
  checkSize("save_message_bytes", utf8Bytes(request.message), "message");
  fenceOf(request.leaseIncarnation, request.leaseEpoch);
  const { incarnation, epoch } = target.workspace.state();
  if (request.incarnation !== "" && request.incarnation !== incarnation) {
    throw new GinError("STALE_INCARNATION", "the workspace is another incarnation", undefined, { facts: { incarnation } });
  }
  if (request.epoch !== undefined && toCount(request.epoch) !== epoch) {
    throw new GinError("STALE_EPOCH", "another daemon took the workspace over", undefined, { facts: { epoch: String(epoch) } });
  }
}

/** Plans and saves; what changed in between makes the plan anew, a few times. */
async function takeBack(ground: Ground, target: Target, call: Invocation, asked: Asked): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planOf(ground, target, call, asked);
    if (asked.request.preview) return await previewed(ground, target, call, asked, plan);
    if (!plan.clean && !asked.request.skipConflicts) throw await refused(ground, target, call, asked, plan);
    try {
      return await saved(ground, target, call, asked, plan);
    } catch (thrown) {
      const raced = thrown instanceof GinError && thrown.reason === "STALE_CONTENT";
      if (!raced || attempt === ATTEMPTS) throw thrown;
    }
  }
}

async function planOf(ground: Ground, target: Target, call: Invocation, asked: Asked): Promise<UndoPlan> {
  const { selection, request } = asked;
  const looking = {
    workspace: target.workspace,
    store: ground.store,
    authorise: (path: string) => requirePath(call.caller, path),
    signal: call.signal,
  };
  const view: UndoView = {
    workspace: target.rowid,
    reader: ground.reader,
    trees: ground.store.trees,
    differ: ground.differ,
    clock: ground.clock,
    current: (path) => currentPath(looking, path),
    signal: call.signal,
  };
  const limits = { paths: LIMITS.save_edits.value, bytes: LIMITS.undo_bytes.value };
  if (selection.kind === "work") return planUndo(view, selection.selected, request.skipConflicts, limits);
  const head = target.workspace.tree();
  const plan = await planRestore(view, selection.path, selection.at, head, request.skipConflicts, limits);
  requireRight(call.caller, plan.later);
  return plan;
}

/** What an answer says beside the plan. */
type Done = Pick<SaveOutcome, "state" | "checkpoint" | "noChange" | "applyPending">;

async function previewed(ground: Ground, target: Target, call: Invocation, asked: Asked, plan: UndoPlan): Promise<Answer> {
  const id = ground.random.id("dt");
  const state = target.workspace.state();
  const done: Done = { state, checkpoint: "", noChange: plan.edits.length === 0, applyPending: false };
  const { answer, cut } = answerOf(asked, plan, done, id);
  if (cut) await ground.store.write("detail", detailOf(ground, target, call, plan, id));
  return answer;
}

async function saved(ground: Ground, target: Target, call: Invocation, asked: Asked, plan: UndoPlan): Promise<Answer> {
  const { request, cause } = asked;
  const id = ground.random.id("dt");
  let tooLong = false;
  const remember = (outcome: SaveOutcome): RequestRow => {
    const { answer } = answerOf(asked, plan, outcome, id);
    const row = asked.remember(answer);
    tooLong = row.answer.byteLength > LIMITS.answer_kept_bytes.value;
    return tooLong ? asked.remember(answer, { ...answer, undone: [], paths: [], detailId: id }) : row;
  };
  const input: SaveInput = {
    ...saverOf(ground, request, call.caller),
    edits: plan.edits,
    onConflict: "refuse",
    message: request.message,
    dryRun: false,
    cause,
    undoes: plan.undone,
    remember,
    signal: call.signal,
  };
  const outcome = await target.workspace.save(input);
  const { answer, cut } = answerOf(asked, plan, outcome, id);
  // The committed row may name the detail; a replay within its day needs it, so it goes before the answer.
  if (cut || tooLong) await ground.store.write("detail", detailOf(ground, target, call, plan, id));
  return answer;
}

/** Who lacks the lease is told that first; then what stands in the way. */
async function refused(ground: Ground, target: Target, call: Invocation, asked: Asked, plan: UndoPlan): Promise<GinError> {
  const { request } = asked;
  const { caller } = call;
  const paths = plan.paths.map((one) => one.path);
  const { fence } = fenceOf(request.leaseIncarnation, request.leaseEpoch);
  ground.leases.judge(target.rowid, caller.principal, paths, fence, leaseRequired(ground, caller));
  const conflicts = plan.paths.filter((one) => one.conflict !== undefined);
  const shown = bounded(conflicts, conflictFacts);
  const id = ground.random.id("dt");
  if (shown.cut) await ground.store.write("detail", detailOf(ground, target, call, plan, id));
  const some = plan.edits.length > 0;
  return refusal(plan, shown, shown.cut ? id : undefined, some ? asked.skipping() : undefined);
}

function answerOf(
  asked: Asked,
  plan: UndoPlan,
  done: Done,
  detailId: string,
): { readonly answer: Answer; readonly cut: boolean } {
  const shown = bounded(plan.paths, toUndonePath);
  const cut = shown.cut || plan.undone.length > SHOWN_UNDONE;
  const answer: Answer = {
    state: stateOf(done.state),
    checkpoint: done.checkpoint,
    undone: plan.undone.slice(0, SHOWN_UNDONE),
    paths: shown.paths,
    preview: asked.request.preview,
    clean: plan.clean,
    noChange: done.noChange,
    replayed: false,
    requestId: asked.request.requestId,
    applyPending: done.applyPending,
    detailId: cut ? detailId : "",
  };
  return { answer, cut };
}

/** Everything of a plan, a JSON value a line: the paths, then the checkpoints. */
function detailOf(ground: Ground, target: Target, call: Invocation, plan: UndoPlan, id: string): DetailRow {
  const checkpoints = plan.undone.map((checkpoint) => ({ checkpoint }));
  return {
    id,
    workspace: target.rowid,
    principal: call.caller.principal,
    kind: "undo.paths",
    body: listBody([...plan.paths.map(undoneFacts), ...checkpoints]),
    timeMs: ground.clock.wallMs(),
  };
}
