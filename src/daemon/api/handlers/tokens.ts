import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type CreateTokenRequest,
  CreateTokenResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  type TokenInfoSchema,
} from "../../../gen/gin/v1/admin_pb.ts";
import type { TokenSpec } from "../../policy/index.ts";
import type { TokenRow } from "../../store/index.ts";
import type { Ground, Handlers, Invocation } from "../invocation.ts";
import { checkMost, checkSize, invalid, toCount } from "../limits.ts";
import { resolve } from "../resolve.ts";

/** Making, listing and revoking tokens. What a token may be is the policy room's to judge. */
export function tokenHandlers(ground: Ground): Pick<Handlers, "createToken" | "listTokens" | "revokeToken"> {
  const { tokens } = ground;
  return {
    async createToken(request, call) {
      const respond = (row: TokenRow, token: string) =>
        create(CreateTokenResponseSchema, { info: toInfo(row), token, requestId: request.requestId });
      // The outcome is kept without the secret: it is shown this once.
      const made = await tokens.create(call.caller, specOf(ground, request, call), (row) => call.remember(respond(row, "")));
      return respond(made.row, made.token);
    },
    listTokens: () => create(ListTokensResponseSchema, { tokens: tokens.list().map(toInfo) }),
    async revokeToken(request, call) {
      if (request.id === "") throw invalid("id", "must name a token");
      const respond = (row: TokenRow) => create(RevokeTokenResponseSchema, { info: toInfo(row), requestId: request.requestId });
      return respond(await tokens.revoke(request.id, (row) => call.remember(respond(row))));
    },
  };
}

function specOf(ground: Ground, request: CreateTokenRequest, call: Invocation): TokenSpec {
  checkSize("token_lists", request.workspaces.length, "workspaces");
  checkSize("token_lists", request.paths.length, "paths");
  const expiresInMs = toCount(request.expiresInMs);
  checkMost("token_expires_max_ms", expiresInMs, "expires_in_ms");
  const all = ground.host.workspaces();
  return {
    principal: request.principal,
    scopes: request.scopes,
    workspaces: request.workspaces.map((named) => {
      const { hosted } = resolve(all, call.caller, "any", "", named);
      // An empty name stands for "the only one" elsewhere; in a list of rights it would be a guess.
      if (named === "" || hosted === undefined) throw invalid("workspaces", "must hold ids or names of workspaces");
      return hosted.id;
    }),
    paths: request.paths,
    expiresInMs,
  };
}

/** A token without its secret; times that never were are left out. */
function toInfo(row: TokenRow): MessageInitShape<typeof TokenInfoSchema> {
  return {
    id: row.id,
    principal: row.principal,
    scopes: [...row.scopes],
    workspaces: [...row.workspaces],
    paths: [...row.paths],
    created: timestampFromMs(row.createdMs),
    expires: timestampFromMs(row.expiresMs),
    ...(row.lastUsedMs === 0 ? {} : { lastUsed: timestampFromMs(row.lastUsedMs) }),
    ...(row.revokedMs === 0 ? {} : { revoked: timestampFromMs(row.revokedMs) }),
    createdBy: row.createdBy,
  };
}
