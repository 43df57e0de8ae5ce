import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CloseWorkspaceResponseSchema,
  ListWorkspacesResponseSchema,
  type OpenWorkspaceResponse,
  OpenWorkspaceResponseSchema,
  RemoveWorkspaceResponseSchema,
  type WorkspaceInfoSchema,
} from "../../../gen/gin/v1/admin_pb.ts";
import { mayUseWorkspace } from "../../policy/index.ts";
import { type Ground, type Handlers, type Invocation, stateOf } from "../invocation.ts";
import { checkSize, invalid, utf8Bytes } from "../limits.ts";
import type { Hosted } from "../types.ts";
import { toProgress } from "./context.ts";

type WorkspaceHandlers = Pick<Handlers, "openWorkspace" | "listWorkspaces" | "closeWorkspace" | "removeWorkspace">;

/** Opening, listing, closing and removing workspaces. */
export function workspaceHandlers(ground: Ground): WorkspaceHandlers {
  const { host } = ground;
  return {
    async openWorkspace(request, call) {
      if (request.root === "") throw invalid("root", "must name a directory");
      checkSize("path_bytes", utf8Bytes(request.root), "root");
      checkSize("name_bytes", utf8Bytes(request.name), "name");
      const name = request.name === "" ? request.workspace : request.name;
      const respond = ({ hosted, created }: { readonly hosted: Hosted; readonly created: boolean }) =>
        create(OpenWorkspaceResponseSchema, {
          ...stateOfHosted(hosted),
          info: toInfo(hosted),
          created,
          requestId: request.requestId,
        });
      const opened = await host.open({
        root: request.root,
        name: name === "" ? undefined : name,
        repository: request.repository === "" ? undefined : request.repository,
        remember: (made) => call.remember(respond(made)),
      });
      return respond(opened);
    },
    listWorkspaces: (_request, call) =>
      create(ListWorkspacesResponseSchema, {
        workspaces: host
          .workspaces()
          .filter((one) => mayUseWorkspace(call.caller, one.id))
          .map(toInfo),
      }),
    async closeWorkspace(request, call) {
      const respond = (closed: Hosted) =>
        create(CloseWorkspaceResponseSchema, { info: toInfo(closed), requestId: request.requestId });
      return respond(await host.close(hostedOf(call), (closed) => call.remember(respond(closed))));
    },
    async removeWorkspace(request, call) {
      const respond = (removed: Hosted) =>
        create(RemoveWorkspaceResponseSchema, { info: toInfo(removed), requestId: request.requestId });
      return respond(await host.remove(hostedOf(call), (removed) => call.remember(respond(removed))));
    },
  };
}

/** The workspace of an "any" operation: the pipeline saw to it that there is one. */
export function hostedOf(call: Pick<Invocation, "hosted">): Hosted {
  if (call.hosted === undefined) throw new Error("an operation on a workspace ran without one");
  return call.hosted;
}

/** `{ state }` of a workspace that is open, else nothing. */
export function stateOfHosted(hosted: Hosted): { readonly state?: ReturnType<typeof stateOf> } {
  return hosted.workspace === undefined ? {} : { state: stateOf(hosted.workspace.state()) };
}

/** A workspace as the owner sees it. */
export function toInfo(hosted: Hosted): MessageInitShape<typeof WorkspaceInfoSchema> {
  const { status, note } = hosted.workspace?.status() ?? { status: "closed", note: "" };
  return {
    id: hosted.id,
    name: hosted.name,
    repository: hosted.repository,
    repositoryName: hosted.repositoryName,
    root: hosted.root,
    trusted: hosted.trusted,
    status,
    statusNote: note,
    ...(hosted.workspace === undefined ? {} : { import: toProgress(hosted.workspace.importProgress()) }),
    ...stateOfHosted(hosted),
  };
}

/** A replayed opening tells the workspace's state of now. */
export function refreshOpened(ground: Ground, response: OpenWorkspaceResponse): void {
  const hosted = ground.host.workspaces().find((one) => one.id === response.info?.id);
  if (hosted?.workspace === undefined || response.info === undefined) return;
  const state = { $typeName: "gin.v1.State" as const, ...stateOf(hosted.workspace.state()) };
  response.state = state;
  response.info.state = state;
}
