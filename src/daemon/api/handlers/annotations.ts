import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AnchorStanding,
  type AnnotationSchema,
  type ListAnnotationsRequest,
  type ListAnnotationsResponse,
  ListAnnotationsResponseSchema,
  type WriteAnnotationRequest,
  type WriteAnnotationResponse,
  WriteAnnotationResponseSchema,
} from "../../../gen/gin/v1/annotation_pb.ts";
import type { AnchorInput, Annotation, PlacedAnchor, Standing } from "../../annotation/index.ts";
import { GinError } from "../../base/index.ts";
import type { AnnotationRow } from "../../store/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateIn, targetOf } from "../invocation.ts";
import { checkMost, checkSize, invalid, isHash, LIMITS, toCount, utf8Bytes } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { findSnapshot, isHead, requireKept, treePath } from "./snapshot.ts";

const STANDINGS: { readonly [K in Standing]: AnchorStanding } = {
  same: AnchorStanding.SAME,
  moved: AnchorStanding.MOVED,
  changed: AnchorStanding.CHANGED,
  gone: AnchorStanding.GONE,
  unknown: AnchorStanding.UNKNOWN,
};

/** WriteAnnotation and ListAnnotations: form and paths here; what is kept and where it stands in the annotation room. */
export function annotationsHandlers(ground: Ground): Pick<Handlers, "writeAnnotation" | "listAnnotations"> {
  return {
    writeAnnotation: (request, call) => write(ground, request, call),
    listAnnotations: (request, call) => list(ground, request, call),
  };
}

async function write(
  ground: Ground,
  request: WriteAnnotationRequest,
  call: Invocation<"writeAnnotation">,
): Promise<WriteAnnotationResponse> {
  const target = targetOf(call);
  checkSize("annotation_text_bytes", utf8Bytes(request.text), "text");
  checkSize("annotation_anchors", request.anchors.length, "anchors");
  checkSize("annotation_evidence_characters", request.evidenceId.length, "evidence_id");
  if (request.text === "") throw invalid("text", "must say something");
  if (request.replyTo !== "" && request.corrects !== "") throw invalid("corrects", "goes without reply_to");
  const anchors = request.anchors.map((anchor, index) => anchorOf(anchor, index));
  const checkpoint = await place(ground, request.checkpoint, anchors, call);
  const respond = (row: AnnotationRow): WriteAnnotationResponse =>
    create(WriteAnnotationResponseSchema, {
      ...stateIn(call),
      id: row.id,
      checkpoint: row.checkpoint,
      thread: row.thread,
      requestId: request.requestId,
    });
  const written = await ground.annotations.write({
    workspace: target.rowid,
    caller: call.caller,
    requestId: request.requestId,
    checkpoint,
    text: request.text,
    anchors,
    replyTo: request.replyTo,
    corrects: request.corrects,
    evidenceId: request.evidenceId,
    remember: (row) => call.remember(respond(row)),
  });
  return respond(written);
}

function anchorOf(anchor: WriteAnnotationRequest["anchors"][number], index: number): AnchorInput {
  const field = (name: string) => `anchors[${index}].${name}`;
  const { path, sha256 } = anchor;
  const [startLine, endLine] = [toCount(anchor.startLine), toCount(anchor.endLine)];
  if (path === "") throw invalid(field("path"), "must name a file");
  if (startLine === 0 && endLine !== 0) throw invalid(field("start_line"), "is from 1; with end_line 0 both mean the whole file");
  if (endLine < startLine) throw invalid(field("end_line"), "is before start_line");
  if (sha256 !== "" && !isHash(sha256)) throw invalid(field("sha256"), "must be a SHA-256 in lower-case hex");
  return { path: treePath(path), startLine, endLine, ...(sha256 === "" ? {} : { sha256 }) };
}

/** The checkpoint that is annotated. At head, what is on disk at the anchored paths is recorded first, so that it is what is anchored. */
async function place(ground: Ground, checkpoint: string, anchors: readonly AnchorInput[], call: Invocation): Promise<string> {
  const target = targetOf(call);
  const authorise = (path: string): void => requirePath(call.caller, path);
  for (const { path } of anchors) authorise(path);
  if (!isHead(checkpoint)) {
    const named = checkpoint === "base" || checkpoint === "published";
    const id = named ? findSnapshot(ground, target, checkpoint).checkpoint : checkpoint;
    const row = ground.reader.checkpoint(id);
    // A note on a checkpoint needs nothing of what it held; lines do.
    if (row?.workspace === target.rowid && anchors.length > 0) requireKept(ground, target, row);
    return id;
  }
  for (const path of new Set(anchors.map((one) => one.path))) {
    const read = await target.workspace.readHead(path, { authorise, content: false, signal: call.signal });
    if (read.kind === "large") read.close();
  }
  const { head } = target.workspace.state();
  if (head === "")
    throw new GinError("ID_NOT_FOUND", "the workspace has no checkpoint yet", "read or save a file first", {
      facts: { id: "head" },
    });
  return head;
}

async function list(
  ground: Ground,
  request: ListAnnotationsRequest,
  call: Invocation<"listAnnotations">,
): Promise<ListAnnotationsResponse> {
  const target = targetOf(call);
  const limit = pageSize(request.limit, LIMITS.list_default_entries.value);
  checkMost("list_max_entries", limit, "limit");
  const { checkpoint, thread } = request;
  const path = request.path === "" || request.path === "." ? "" : treePath(request.path);
  if ([checkpoint, path, thread].filter((one) => one !== "").length > 1) {
    throw invalid("path", "at most one of checkpoint, path and thread is given");
  }
  if (path !== "") requirePath(call.caller, path);
  const scope: CursorScope = {
    operation: "ListAnnotations",
    principal: call.caller.principal,
    query: [target.id, checkpoint, path, thread],
  };
  const after = ground.cursors.open(scope, request.cursor);
  const of = checkpoint === "" ? undefined : checkpointOf(ground, checkpoint, call);
  const state = stateIn(call);
  const page = await ground.annotations.list({
    workspace: target.rowid,
    caller: call.caller,
    generation: Number(state.state?.generation ?? 0n),
    ...(of === undefined ? {} : { checkpoint: of }),
    ...(path === "" ? {} : { path }),
    ...(thread === "" ? {} : { thread }),
    ...(typeof after === "number" ? { after } : {}),
    limit,
    // Who names a count gets as much of it as a message carries; else a page is of the length that all lists have.
    maxBytes: request.limit === 0 ? LIMITS.page_default_bytes.value : LIMITS.page_max_bytes.value,
    signal: call.signal,
  });
  return create(ListAnnotationsResponseSchema, {
    ...state,
    annotations: page.annotations.map(toAnnotation),
    nextCursor: page.next === undefined ? "" : ground.cursors.seal(scope, page.next),
  });
}

/** Notes outlive what they are on: an id gc has let go of is looked up as it was given. */
function checkpointOf(ground: Ground, checkpoint: string, call: Invocation): string {
  const target = targetOf(call);
  if (checkpoint === "head") return target.workspace.state().head;
  if (checkpoint === "base" || checkpoint === "published") return findSnapshot(ground, target, checkpoint).checkpoint;
  return checkpoint;
}

/** An annotation in the contract's form. */
export function toAnnotation({ row, correctedBy, anchors }: Annotation): MessageInitShape<typeof AnnotationSchema> {
  const { id, checkpoint, principal, requestId, text, thread, replyTo, corrects, evidenceId, timeMs } = row;
  return {
    id,
    checkpoint,
    principal,
    requestId,
    text,
    time: timestampFromMs(timeMs),
    thread,
    replyTo,
    corrects,
    correctedBy,
    evidenceId,
    anchors: anchors.map(toAnchorNow),
  };
}

function toAnchorNow({ anchor, now }: PlacedAnchor) {
  const { path, startLine, endLine, sha256, text } = anchor;
  return {
    anchor: { path, startLine: BigInt(startLine), endLine: BigInt(endLine), sha256 },
    standing: STANDINGS[now.standing],
    path: now.path,
    startLine: BigInt(now.startLine),
    endLine: BigInt(now.endLine),
    text,
  };
}
