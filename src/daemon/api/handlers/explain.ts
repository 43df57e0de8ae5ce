import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type ExplainResponse, ExplainResponseSchema } from "../../../gen/gin/v1/history_pb.ts";
import { cutText, GinError, isReason, type Json, REASONS, type Reason } from "../../base/index.ts";
import { mayUseWorkspace } from "../../policy/index.ts";
import type { Checkpoint } from "../../store/index.ts";
import { type Ground, type Handlers, type Invocation, stateIn } from "../invocation.ts";
import { invalid } from "../limits.ts";
import type { Hosted } from "../types.ts";
import { firstTouched, MOST_UNDOES, touchedFacts } from "./checkpoint.ts";
import { findDetail } from "./details.ts";
import { visibleLease } from "./lease.ts";
import { operationTitle, scopesOf } from "./outcome.ts";

/** What is known of an id. */
interface Explanation {
  readonly kind: string;
  readonly summary: string;
  readonly facts: { readonly [key: string]: Json };
  readonly lineage?: readonly string[];
  readonly next?: readonly string[];
}

/** How many ancestors a checkpoint's lineage names, and how many of its paths its facts show. */
const SOME = 10;
/** Characters of a note that its explanation shows; ListAnnotations gives all of it. */
const EXPLAINED_CHARACTERS = 2_000;

/** Explain: what an id is, where it comes from, what to do next. */
export function explainHandlers(ground: Ground): Pick<Handlers, "explain"> {
  return {
    explain(request, call): ExplainResponse {
      if (request.id === "") throw invalid("id", "must name something");
      const found = explain(ground, call, request.id);
      if (found === undefined) {
        throw new GinError("ID_NOT_FOUND", "nothing of that id can be shown to you here", undefined, {
          facts: { id: request.id.slice(0, 128) },
        });
      }
      return create(ExplainResponseSchema, {
        ...stateIn(call),
        id: request.id,
        kind: found.kind,
        summary: found.summary,
        facts: found.facts as JsonObject,
        lineage: [...(found.lineage ?? [])],
        next: [...(found.next ?? [])],
      });
    },
  };
}

function explain(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  if (isReason(id)) return explainReason(id);
  if (id.startsWith("request:")) return explainRequest(ground, call, id.slice("request:".length));
  switch (id.slice(0, 3)) {
    case "ck_":
      return explainCheckpoint(ground, call, id);
    case "ls_":
      return explainLease(ground, call, id);
    case "ws_":
    case "in_":
      return explainWorkspace(ground, call, id);
    case "rp_":
      return explainRepository(ground, call, id);
    case "an_":
      return explainAnnotation(ground, call, id);
    case "tk_":
      return explainToken(ground, call, id);
    case "dt_":
      return explainDetail(ground, call, id);
    case "li_":
      return explainLeaseTable(ground, id);
    default:
      return undefined;
  }
}

function explainReason(reason: Reason): Explanation {
  const { code, retryable, when, facts, then } = REASONS[reason];
  return {
    kind: "reason",
    summary: `${reason}: ${when}`,
    facts: { code: Code[code], retryable, facts: [...facts] },
    next: [then],
  };
}

function explainRequest(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const { principal } = call.caller;
  for (const scope of scopesOf(call)) {
    const running = ground.requests.running(scope, principal, id);
    if (running !== undefined) {
      return { kind: "request", summary: `${running} is still running`, facts: { operation: running, outcome: "in_progress" } };
    }
    const row = ground.reader.request(scope, principal, id);
    if (row === undefined) continue;
    const facts = { operation: row.operation, outcome: row.outcome, principal, time: timeText(row.timeMs) };
    const next = "RequestOutcome gives its whole answer";
    return { kind: "request", summary: `${operationTitle(row)}, ${row.outcome}`, facts, next: [next] };
  }
  return undefined;
}

function explainCheckpoint(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const row = ground.reader.checkpoint(id);
  const hosted = row === undefined ? undefined : hostedOf(ground, call, (one) => one.rowid === row.workspace);
  if (row === undefined || hosted === undefined) return undefined;
  const { paths, count } = firstTouched(ground, call.caller, id, SOME);
  const facts = {
    workspace: hosted.id,
    generation: String(row.generation),
    cause: row.cause,
    principal: row.principal,
    request_id: row.requestId,
    time: timeText(row.timeMs),
    path_count: String(count),
    paths: paths.map((change) => touchedFacts(change) as Json),
    ...takenBackFacts(ground, id),
  };
  const who = row.principal === "" ? "principal unknown" : `by ${row.principal}`;
  return {
    kind: "checkpoint",
    summary: `generation ${row.generation}, ${row.cause}, ${who}, ${count} paths`,
    facts,
    lineage: ancestors(ground, row),
    next: ["ReadPath with this id as snapshot reads what it held", ...undoNext(row)],
  };
}

function undoNext({ cause }: Checkpoint): string[] {
  if (cause === "import") return [];
  return [cause === "undo" ? "Redo with this id brings its work again" : "Undo with this id takes it back"];
}

/** What it took back, and what took it back; nothing for a checkpoint that has to do with neither. */
function takenBackFacts(ground: Ground, id: string): { readonly [key: string]: Json } {
  const undoes = ground.reader.undone(id);
  const by = ground.reader.undoneBy(id);
  return {
    ...(undoes.length === 0 ? {} : { undoes: undoes.slice(0, MOST_UNDOES), undoes_count: String(undoes.length) }),
    ...(by.length === 0 ? {} : { undone_by: by.slice(-SOME).map((one) => one.id) }),
  };
}

function ancestors(ground: Ground, row: Checkpoint): string[] {
  const lineage: string[] = [];
  let at = row.parents[0];
  while (at !== undefined && lineage.length < SOME) {
    lineage.push(at);
    at = ground.reader.checkpoint(at)?.parents[0];
  }
  return lineage;
}

function explainAnnotation(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const row = ground.annotations.find(id, call.caller);
  const hosted = row === undefined ? undefined : hostedOf(ground, call, (one) => one.rowid === row.workspace);
  if (row === undefined || hosted === undefined) return undefined;
  const count = row.anchors.length;
  const anchored = count === 0 ? "" : count === 1 ? ", on one place" : `, on ${count} places`;
  return {
    kind: "annotation",
    summary: `note of ${row.principal}${anchored}`,
    facts: {
      workspace: hosted.id,
      checkpoint: row.checkpoint,
      principal: row.principal,
      request_id: row.requestId,
      time: timeText(row.timeMs),
      thread: row.thread,
      reply_to: row.replyTo,
      corrects: row.corrects,
      corrected_by: ground.reader.correctedBy(id),
      text: cutText(row.text, EXPLAINED_CHARACTERS),
    },
    lineage: [row.replyTo || row.corrects, row.checkpoint].filter((one) => one !== ""),
    next: ["ListAnnotations with this id as thread shows it with its answers, and where its lines stand"],
  };
}

function explainLease(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const any = ground.reader.lease(id);
  const row = any === undefined ? undefined : visibleLease(call.caller, any);
  const hosted = row === undefined ? undefined : hostedOf(ground, call, (one) => one.rowid === row.workspace);
  if (row === undefined || hosted === undefined) return undefined;
  const live = ground.leases.find(id);
  const remaining = live === undefined ? 0 : Math.floor(live.remainingMs);
  const scope = row.paths.length === 0 ? "the whole workspace" : row.paths.slice(0, SOME).join(", ");
  return {
    kind: "lease",
    summary: live === undefined ? `over; it was ${row.holder}'s on ${scope}` : `held by ${row.holder} on ${scope}`,
    facts: {
      workspace: hosted.id,
      holder: row.holder,
      intent: row.intent,
      paths: [...row.paths],
      held: live !== undefined,
      remaining_ms: String(remaining),
    },
    next: [live === undefined ? "AcquireLease gives a new one" : "AcquireLease with wait_ms waits for its end"],
  };
}

function explainWorkspace(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const hosted = hostedOf(ground, call, (one) => one.id === id || one.workspace?.state().incarnation === id);
  if (hosted === undefined) return undefined;
  const status = hosted.workspace?.status().status ?? "closed";
  return {
    kind: "workspace",
    summary: `workspace ${hosted.name} of repository ${hosted.repositoryName}, ${status}`,
    facts: { id: hosted.id, name: hosted.name, repository: hosted.repository, status },
    lineage: [hosted.repository],
    next: [hosted.workspace === undefined ? "OpenWorkspace opens it again" : "Context tells its state"],
  };
}

function explainRepository(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const members = ground.host.workspaces().filter((one) => one.repository === id && mayUseWorkspace(call.caller, one.id));
  const first = members[0];
  if (first === undefined) return undefined;
  return {
    kind: "repository",
    summary: `repository ${first.repositoryName} with ${members.length} workspaces`,
    facts: { name: first.repositoryName, workspaces: members.map((one) => one.id) },
  };
}

function explainToken(ground: Ground, call: Invocation, id: string): Explanation | undefined {
  const row = ground.tokens.token(id);
  const visible = call.caller.scopes.has("admin") || call.caller.tokenId === id;
  if (row === undefined || !visible) return undefined;
  return {
    kind: "token",
    summary: `token of ${row.principal}${row.revokedMs === 0 ? "" : ", revoked"}`,
    facts: {
      principal: row.principal,
      scopes: [...row.scopes],
      workspaces: [...row.workspaces],
      paths: [...row.paths],
      expires: timeText(row.expiresMs),
      revoked: row.revokedMs !== 0,
    },
  };
}

function explainDetail(ground: Ground, call: Invocation, id: string): Explanation {
  const detail = findDetail(ground, call.caller, id);
  const bytes = String(detail.body.byteLength);
  return {
    kind: "detail",
    summary: `${detail.kind}, ${bytes} bytes`,
    facts: { kind: detail.kind, bytes },
    next: ["Details gives it in pages"],
  };
}

function explainLeaseTable(ground: Ground, id: string): Explanation {
  const current = ground.leases.incarnation === id;
  const summary = current ? "the lease table in force" : "a lease table that is not in force: its fences are superseded";
  return { kind: "lease", summary, facts: { current } };
}

/** The first workspace that fits and that this caller may speak of. */
function hostedOf(ground: Ground, call: Invocation, fits: (one: Hosted) => boolean): Hosted | undefined {
  return ground.host.workspaces().find((one) => fits(one) && mayUseWorkspace(call.caller, one.id));
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
