import { connect } from "node:net";
import { toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type JsonObject, toolEnvelope } from "../../src/clients/sdk/index.ts";
import { GinService } from "../../src/gen/gin/v1/service_pb.ts";
import { CallToolResponseSchema } from "../../src/gen/gin/v1/tool_pb.ts";
import { atTeardown } from "../helpers/teardown.ts";
import type { Site } from "../mcp/setup.ts";
import type { Transport } from "./transports.ts";

const JSON_OPTIONS = { useProtoFieldName: true, alwaysEmitImplicit: true };

/** CallTool in the gRPC protocol, on the socket of a daemon that runs. */
export function overGrpc({ root, daemon }: Site): Transport {
  const baseUrl = "http://localhost";
  const sessionManager = new Http2SessionManager(baseUrl, {}, { createConnection: () => connect(daemon.ready.socket) });
  atTeardown(() => sessionManager.abort());
  const client = createClient(GinService, createGrpcTransport({ baseUrl, sessionManager }));
  let calls = 0;
  return {
    root,
    async call({ tool, args, request_id: requestId, compress = false }) {
      calls += 1;
      const answer = await client.callTool({ tool, arguments: args, compress, requestId: requestId ?? `grpc-${calls}` });
      return toolEnvelope(toJson(CallToolResponseSchema, answer, JSON_OPTIONS) as JsonObject);
    },
  };
}
