// The peers of bench read in one process each: `bare`, `connect` or `grpc`, all on a Unix socket, all answering one constant file.
import { createServer } from "node:http";
import { join } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { PathKind } from "../../src/gen/gin/v1/common_pb.ts";
import { ReadPathResponseSchema } from "../../src/gen/gin/v1/read_pb.ts";
import { GinService } from "../../src/gen/gin/v1/service_pb.ts";
import { repo } from "../support/daemon.ts";

const [kind, socket, text] = process.argv.slice(2) as [string, string, string];
const answer = create(ReadPathResponseSchema, {
  state: { incarnation: "in_0123456789abcdefghij", generation: 1n, epoch: 1n, head: "ck_0123456789abcdefghij" },
  path: "src/file.txt",
  kind: PathKind.FILE,
  size: BigInt(text.length),
  sha256: "0".repeat(64),
  encoding: "utf-8",
  lineEnding: "lf",
  lineCount: 64n,
  text,
  checkpoint: "ck_0123456789abcdefghij",
  firstLine: 1n,
});
const ready = (): void => console.log(JSON.stringify({ ready: true }));

if (kind === "bare") {
  const body = toJsonString(ReadPathResponseSchema, answer);
  createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  }).listen(socket, ready);
} else if (kind === "connect") {
  createServer(
    { keepAliveTimeout: 300_000 },
    connectNodeAdapter({ routes: (router) => router.rpc(GinService.method.readPath, () => answer) }),
  ).listen(socket, ready);
} else {
  const loaded = grpc.loadPackageDefinition(
    loadSync("gin/v1/service.proto", { includeDirs: [join(repo, "proto")], keepCase: true }),
  );
  const service = (loaded as unknown as { gin: { v1: { GinService: { service: grpc.ServiceDefinition } } } }).gin.v1.GinService
    .service;
  const plain = {
    state: { incarnation: "in_0123456789abcdefghij", generation: 1, epoch: 1, head: "ck_0123456789abcdefghij" },
    path: "src/file.txt",
    kind: 1,
    size: text.length,
    sha256: "0".repeat(64),
    encoding: "utf-8",
    line_ending: "lf",
    line_count: 64,
    text,
    checkpoint: "ck_0123456789abcdefghij",
    first_line: 1,
  };
  const server = new grpc.Server();
  const handler: grpc.handleUnaryCall<unknown, unknown> = (_call, done) => done(null, plain);
  server.addService(service, { ReadPath: handler });
  server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), ready);
}
