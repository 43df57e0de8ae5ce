import { create } from "@bufbuild/protobuf";
import { RelinkResponseSchema } from "../../../gen/gin/v1/admin_pb.ts";
import type { Ground, Handlers } from "../invocation.ts";
import { checkSize, invalid, utf8Bytes } from "../limits.ts";
import type { Hosted } from "../types.ts";
import { hostedOf, stateOfHosted, toInfo } from "./workspaces.ts";

/** Relink: a moved directory's workspace goes on where the directory is now. */
export function relinkHandlers(ground: Ground): Pick<Handlers, "relink"> {
  return {
    async relink(request, call) {
      const { directory, requestId } = request;
      if (!directory.startsWith("/")) throw invalid("directory", "must be an absolute path");
      checkSize("path_bytes", utf8Bytes(directory), "directory");
      const respond = (relinked: Hosted) =>
        create(RelinkResponseSchema, { ...stateOfHosted(relinked), info: toInfo(relinked), requestId });
      return respond(await ground.host.relink(hostedOf(call), directory, (relinked) => call.remember(respond(relinked))));
    },
  };
}
