import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { AdminService, type OpenWorkspaceResponse } from "../../gen/gin/v1/admin_pb.ts";
import type { Request, Response } from "../../gen/gin/v1/call_pb.ts";
import { RequestSchema } from "../../gen/gin/v1/call_pb.ts";
import type { AcquireLeaseResponse } from "../../gen/gin/v1/lease_pb.ts";
import type { LspRequest } from "../../gen/gin/v1/lsp_pb.ts";
import { GinService } from "../../gen/gin/v1/service_pb.ts";
import type { CallToolRequest } from "../../gen/gin/v1/tool_pb.ts";
import type { WatchRequest } from "../../gen/gin/v1/watch_pb.ts";
import { GinError, toGinError } from "../base/index.ts";
import { Cursors } from "./cursors.ts";
import { Dispatcher, type Origin } from "./dispatch.ts";
import { exceedsTrailer, toConnectError, toErrorDetail } from "./errors.ts";
import { annotationsHandlers } from "./handlers/annotations.ts";
import { capabilitiesHandlers } from "./handlers/capabilities.ts";
import { checkpointHandlers } from "./handlers/checkpoints.ts";
import { contextHandlers } from "./handlers/context.ts";
import { detailsHandlers, listBody } from "./handlers/details.ts";
import { diffHandlers } from "./handlers/diff.ts";
import { explainHandlers } from "./handlers/explain.ts";
import { garbageHandlers } from "./handlers/garbage.ts";
import { hostHandlers } from "./handlers/host.ts";
import { leaseHandlers, refreshLease } from "./handlers/lease.ts";
import { lspHandlers } from "./handlers/lsp.ts";
import { originHandlers } from "./handlers/origin.ts";
import { inResponse, outcomeHandlers } from "./handlers/outcome.ts";
import { readHandlers } from "./handlers/read.ts";
import { relinkHandlers } from "./handlers/relink.ts";
import { routeHandlers } from "./handlers/route.ts";
import { saveHandlers } from "./handlers/save.ts";
import { tokenHandlers } from "./handlers/tokens.ts";
import { refusedAnswer } from "./handlers/tool-refusal.ts";
import { changesSomething, toolHandlers } from "./handlers/tools.ts";
import { trustHandlers } from "./handlers/trust.ts";
import { undoHandlers } from "./handlers/undo.ts";
import { watch } from "./handlers/watch.ts";
import { WatchShared } from "./handlers/watch-shared.ts";
import { refreshOpened, workspaceHandlers } from "./handlers/workspaces.ts";
import type { Ground, Handlers } from "./invocation.ts";
import { JSON_OPTIONS } from "./json-options.ts";
import { LIMITS } from "./limits.ts";
import {
  maxBytesOf,
  methodOf,
  OPERATION_KEYS,
  type OperationKey,
  type RequestOf,
  STREAM_KEYS,
  STREAMS,
  streamMethodOf,
  urlOf,
} from "./operations.ts";
import { RunningRequests } from "./requests.ts";
import { openStream, Streams } from "./streams.ts";
import { strictJsonDecoder } from "./strict-json.ts";
import type { Api, ApiDeps } from "./types.ts";
import { refuseUnknown } from "./unknown.ts";

/** Builds the api over the rooms. */
export function createApi(deps: ApiDeps): Api {
  const ground: Ground = {
    ...deps,
    reader: deps.store.read,
    cursors: new Cursors(deps.store.read.facts().cursorKey),
    requests: new RunningRequests(deps.store, deps.clock, deps.log),
  };
  const dispatcher: Dispatcher = new Dispatcher(
    ground,
    handlersOf(ground, () => dispatcher.running),
    {
      refresh(key, response) {
        if (key === "acquireLease") refreshLease(ground, response as AcquireLeaseResponse);
        if (key === "openWorkspace") refreshOpened(ground, response as OpenWorkspaceResponse);
      },
      changes: (key, request) => {
        if (key === "lsp") return (request as LspRequest).apply;
        return key !== "callTool" || changesSomething(request as CallToolRequest);
      },
      refusal: (key, request, error) => (key === "callTool" ? refusedAnswer(request as CallToolRequest, error) : undefined),
    },
  );
  const streams = new Streams();
  return {
    routes(router) {
      // Declared as wholes, which is what reflection lists. Each RPC is then registered with a decoder and a limit of its own,
      // and the later registration of a path is the one that serves.
      router.service(GinService, {});
      router.service(AdminService, {});
      for (const key of OPERATION_KEYS) addRoute(router, ground, dispatcher, key);
      addCall(router, ground, dispatcher);
      addWatch(router, ground, streams);
    },
    routerOptions: { jsonOptions: JSON_OPTIONS, readMaxBytes: LIMITS.message_bytes.value },
    knownPaths: [
      ...OPERATION_KEYS.map((key) => urlOf(methodOf(key))),
      ...STREAM_KEYS.map((key) => urlOf(streamMethodOf(key))),
      urlOf(GinService.method.call),
    ],
    running: () => dispatcher.running + streams.size,
  };
}

function handlersOf(ground: Ground, running: () => number): Handlers {
  return {
    ...capabilitiesHandlers(ground),
    ...contextHandlers(ground),
    ...readHandlers(ground),
    ...saveHandlers(ground),
    ...outcomeHandlers(ground),
    ...leaseHandlers(ground),
    ...checkpointHandlers(ground),
    ...explainHandlers(ground),
    ...detailsHandlers(ground),
    ...diffHandlers(ground),
    ...originHandlers(ground),
    ...annotationsHandlers(ground),
    ...undoHandlers(ground),
    ...garbageHandlers(ground),
    ...relinkHandlers(ground),
    ...trustHandlers(ground),
    ...toolHandlers(ground),
    ...routeHandlers(ground),
    ...lspHandlers(ground),
    ...workspaceHandlers(ground),
    ...tokenHandlers(ground),
    ...hostHandlers(ground, running),
  };
}

/** Each method has a decoder of its own, so that what is refused in its JSON is named by path. */
function optionsFor(method: DescMethod, readMaxBytes: number) {
  return { jsonOptions: { ...JSON_OPTIONS, textDecoder: strictJsonDecoder(method.input) }, readMaxBytes };
}

function originOf(ground: Ground, context: HandlerContext): Origin {
  return { caller: ground.callerOf(context.values), signal: context.signal };
}

function addRoute(router: ConnectRouter, ground: Ground, dispatcher: Dispatcher, key: OperationKey): void {
  const method = methodOf(key);
  const run = async (request: unknown, context: HandlerContext) => {
    const origin = originOf(ground, context);
    try {
      return await dispatcher.run(key, request as RequestOf<typeof key>, origin);
    } catch (thrown) {
      throw await transportError(ground, toGinError(thrown), origin, context.protocolName);
    }
  };
  router.rpc(method, run, optionsFor(method, maxBytesOf(key)));
}

/** gRPC carries errors in trailers, which peers bound: facts too long for one go to Details. */
async function transportError(ground: Ground, error: GinError, origin: Origin, protocol: string) {
  const detail = toErrorDetail(error);
  if (protocol !== "grpc" || !exceedsTrailer(detail)) return toConnectError(error, detail);
  const id = ground.random.id("dt");
  const { principal } = origin.caller;
  const body = listBody([error.facts, ...(error.nextCall === undefined ? [] : [{ next_call: error.nextCall }])]);
  const row = { id, workspace: 0, principal, kind: "error.facts", body, timeMs: ground.clock.wallMs() };
  delete detail.facts;
  delete detail.nextCall;
  try {
    await ground.store.write("detail", row);
    detail.detailId = id;
  } catch (cause) {
    // The refusal matters more than its facts.
    ground.log.warn({ err: cause }, "the facts of a refusal could not be kept for Details");
  }
  return toConnectError(error, detail);
}

/** Call: engine errors travel in the answer; who was not admitted is still turned away by the transport. */
function addCall(router: ConnectRouter, ground: Ground, dispatcher: Dispatcher): void {
  const method = GinService.method.call;
  const run = async (request: Request, context: HandlerContext): Promise<Response> => {
    const origin = originOf(ground, context);
    try {
      refuseUnknown(RequestSchema, request);
      const { operation } = request;
      if (operation.case === undefined) {
        throw new GinError("INVALID_REQUEST", "no operation is set", "set exactly one field of Request", {
          facts: { field: "operation" },
        });
      }
      const answer = await dispatcher.run(operation.case, operation.value as RequestOf<OperationKey>, origin, true);
      return inResponse(operation.case, answer);
    } catch (thrown) {
      const error = toGinError(thrown);
      if (error.reason === "UNAUTHENTICATED") throw toConnectError(error);
      return { $typeName: "gin.v1.Response", result: { case: "error", value: toErrorDetail(error) } };
    }
  };
  router.rpc(method, run, optionsFor(method, LIMITS.message_save_bytes.value));
}

/** Watch, the one stream: settled like an operation, then it has a place among the streams until it ends. */
function addWatch(router: ConnectRouter, ground: Ground, streams: Streams): void {
  const method = streamMethodOf("watch");
  const shared = new WatchShared(ground);
  const run = async function* (request: WatchRequest, context: HandlerContext) {
    const origin = originOf(ground, context);
    try {
      const call = openStream(ground, "watch", request, origin);
      const leave = streams.enter(call.caller.principal);
      try {
        yield* watch(ground, shared, request, call);
      } finally {
        leave();
      }
    } catch (thrown) {
      const error = toGinError(thrown);
      if (error.reason === "INTERNAL") {
        const facts = { err: error.cause ?? error, operation: method.name, principal: origin.caller.principal };
        ground.log.error(facts, "a stream failed inside gin");
      }
      throw await transportError(ground, error, origin, context.protocolName);
    }
  };
  router.rpc(method, run, optionsFor(method, LIMITS[STREAMS.watch.message].value));
}
