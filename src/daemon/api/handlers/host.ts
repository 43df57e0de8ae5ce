import { create } from "@bufbuild/protobuf";
import {
  type BackupRequest,
  type BackupResponse,
  BackupResponseSchema,
  type ShutdownRequest,
  type ShutdownResponse,
  ShutdownResponseSchema,
  type StatusResponse,
  StatusResponseSchema,
} from "../../../gen/gin/v1/admin_pb.ts";
import type { Ground, Handlers, Invocation } from "../invocation.ts";
import { checkMost, checkSize, invalid, LIMITS, toCount, utf8Bytes } from "../limits.ts";
import { PROTOCOL } from "./capabilities.ts";
import { toInfo } from "./workspaces.ts";

/** Status, Backup and Shutdown. `running` counts the requests the api has under way. */
export function hostHandlers(ground: Ground, running: () => number): Pick<Handlers, "status" | "backup" | "shutdown"> {
  return {
    status: () => status(ground, running),
    backup: (request, call) => backup(ground, request, call),
    shutdown: (request, call) => shutdown(ground, request, call, running),
  };
}

function status(ground: Ground, running: () => number): StatusResponse {
  const facts = ground.host.facts();
  const workspaces = ground.host.workspaces();
  const queued = workspaces.reduce((sum, one) => sum + (one.workspace?.queued() ?? 0), 0);
  return create(StatusResponseSchema, {
    version: ground.version,
    protocol: PROTOCOL,
    pid: BigInt(facts.pid),
    uptimeMs: BigInt(Math.round(facts.uptimeMs)),
    host: facts.host,
    data: facts.data,
    socket: facts.socket,
    endpoint: facts.endpoint,
    workspaces: workspaces.map(toInfo),
    storeBytes: BigInt(ground.reader.facts().bytes),
    residentBytes: BigInt(facts.residentBytes),
    connections: BigInt(facts.connections),
    runningRequests: BigInt(running()),
    queuedSaves: BigInt(queued),
    mode: facts.mode,
    node: facts.node,
    sqlite: facts.sqlite,
    draining: facts.draining,
    clients: facts.clients.map(({ client, principal, transport, connectedMs, requests, running, idleMs }) => ({
      client,
      principal,
      transport,
      connectedMs: BigInt(Math.round(connectedMs)),
      requests: BigInt(requests),
      running: BigInt(running),
      idleMs: BigInt(Math.round(idleMs)),
    })),
  });
}

async function backup(ground: Ground, request: BackupRequest, call: Invocation<"backup">): Promise<BackupResponse> {
  const { directory, requestId } = request;
  if (!directory.startsWith("/")) throw invalid("directory", "must be an absolute path");
  checkSize("path_bytes", utf8Bytes(directory), "directory");
  const { bytes } = await ground.host.backup(directory);
  const response = create(BackupResponseSchema, { directory, bytes: BigInt(bytes), requestId });
  await ground.store.write("request", call.remember(response));
  return response;
}

async function shutdown(
  ground: Ground,
  request: ShutdownRequest,
  call: Invocation<"shutdown">,
  running: () => number,
): Promise<ShutdownResponse> {
  const drainMs = request.drainMs === 0n ? LIMITS.drain_default_ms.value : toCount(request.drainMs);
  checkMost("drain_max_ms", drainMs, "drain_ms");
  const response = create(ShutdownResponseSchema, {
    pid: BigInt(ground.host.facts().pid),
    // This one does not count: it ends with its answer.
    runningRequests: BigInt(Math.max(0, running() - 1)),
    requestId: request.requestId,
  });
  // Kept before the drain starts, for afterwards the store may close.
  await ground.store.write("request", call.remember(response));
  ground.host.shutdown(drainMs);
  return response;
}
