import { create } from "@bufbuild/protobuf";
import { type DetailsResponse, DetailsResponseSchema } from "../../../gen/gin/v1/history_pb.ts";
import { type Caller, GinError } from "../../base/index.ts";
import { mayUseWorkspace } from "../../policy/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, stateIn } from "../invocation.ts";
import { checkMost, invalid, LIMITS } from "../limits.ts";
import { touchedFacts, visibleTo } from "./checkpoint.ts";
import { factsOf, pageOf, sourceOf, textOf } from "./content.ts";

/** What a detail id leads to. */
interface Found {
  readonly kind: string;
  readonly body: Uint8Array;
}

/** The body of a list kept for Details: a JSON value a line. */
export function listBody(values: readonly object[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

/** Details: long lists another answer only counted, in pages of bytes. */
export function detailsHandlers(ground: Ground): Pick<Handlers, "details"> {
  return {
    async details(request, call): Promise<DetailsResponse> {
      if (request.detailId === "") throw invalid("detail_id", "must name a detail");
      const found = findDetail(ground, call.caller, request.detailId);
      const limit = pageSize(request.limit, LIMITS.page_default_bytes.value);
      checkMost("page_max_bytes", limit, "limit");
      const scope: CursorScope = { operation: "Details", principal: call.caller.principal, query: [request.detailId] };
      const position = ground.cursors.open(scope, request.cursor);
      const offset = typeof position === "number" ? position : 0;
      const source = sourceOf(found.body);
      const page = await pageOf(source, factsOf(found.body).utf8, offset, source.size, limit);
      return create(DetailsResponseSchema, {
        ...stateIn(call),
        detailId: request.detailId,
        kind: found.kind,
        text: textOf(page.bytes),
        nextCursor: page.next < source.size ? ground.cursors.seal(scope, page.next) : "",
      });
    },
  };
}

/** A detail this caller may see: its own, or any for the owner. Others read as not found. Throws ID_NOT_FOUND. */
export function findDetail(ground: Ground, caller: Caller, id: string): Found {
  const row = ground.reader.detail(id);
  const kept = row !== undefined && ground.clock.wallMs() - row.timeMs <= LIMITS.detail_kept_ms.value;
  if (kept && (row.principal === caller.principal || caller.scopes.has("admin")) && mayUse(ground, caller, row.workspace)) {
    return { kind: row.kind, body: row.body };
  }
  const paths = row === undefined ? checkpointPaths(ground, caller, id) : undefined;
  if (paths !== undefined) return paths;
  throw new GinError("ID_NOT_FOUND", "no such detail: they are kept for 24 hours, for who they were made for", undefined, {
    facts: { id: id.slice(0, 128) },
  });
}

function mayUse(ground: Ground, caller: Caller, rowid: number): boolean {
  const hosted = ground.host.workspaces().find((one) => one.rowid === rowid);
  return rowid === 0 || (hosted !== undefined && mayUseWorkspace(caller, hosted.id));
}

function checkpointPaths(ground: Ground, caller: Caller, id: string): Found | undefined {
  const checkpoint = id.startsWith("dt_") ? ground.reader.checkpoint(`ck_${id.slice(3)}`) : undefined;
  if (checkpoint === undefined || !mayUse(ground, caller, checkpoint.workspace)) return undefined;
  const { count } = ground.reader.touched(checkpoint.id, 0, 0);
  const { paths } = ground.reader.touched(checkpoint.id, 0, count);
  return { kind: "checkpoint.paths", body: listBody(visibleTo(caller, paths).map(touchedFacts)) };
}
