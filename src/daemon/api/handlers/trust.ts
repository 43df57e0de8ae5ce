import { create } from "@bufbuild/protobuf";
import { TrustWorkspaceResponseSchema } from "../../../gen/gin/v1/admin_pb.ts";
import type { Ground, Handlers } from "../invocation.ts";
import type { Hosted } from "../types.ts";
import { hostedOf, stateOfHosted, toInfo } from "./workspaces.ts";

/** TrustWorkspace: whether language servers that could run code of a workspace may be started for it. */
export function trustHandlers(ground: Ground): Pick<Handlers, "trustWorkspace"> {
  return {
    async trustWorkspace({ revoke, requestId }, call) {
      const respond = (changed: Hosted) =>
        create(TrustWorkspaceResponseSchema, { ...stateOfHosted(changed), info: toInfo(changed), requestId });
      return respond(await ground.host.trust(hostedOf(call), !revoke, (changed) => call.remember(respond(changed))));
    },
  };
}
