import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { spawnOwned } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir } from "../../helpers/temp.ts";
import type { Place } from "../clients/foreign.ts";

/** Reads so many messages of Watch, then leaves. */
export type ForeignStream = (place: Place, request: JsonObject, count: number) => Promise<JsonObject[]>;

/** @grpc/grpc-js with the messages of proto/. */
export const grpcJsStream: ForeignStream = async (place, request, count) => {
  const loaded = loadSync("gin/v1/service.proto", {
    includeDirs: [join(repo, "proto")],
    keepCase: true,
    enums: String,
    longs: String,
    oneofs: true,
  });
  const definition = loaded["gin.v1.GinService"] as unknown as grpc.ServiceDefinition;
  const Service = grpc.makeGenericClientConstructor(definition, "GinService");
  const authority = "socket" in place ? { "grpc.default_authority": "localhost" } : {};
  const target = "socket" in place ? `unix:${place.socket}` : new URL(place.endpoint).host;
  const client = new Service(target, grpc.credentials.createInsecure(), authority);
  const metadata = new grpc.Metadata();
  if ("token" in place) metadata.set("authorization", `Bearer ${place.token}`);
  type Open = (message: object, metadata: grpc.Metadata) => grpc.ClientReadableStream<JsonObject>;
  const call = (client as unknown as { Watch: Open }).Watch(request, metadata);
  try {
    const messages: JsonObject[] = [];
    for await (const message of call as AsyncIterable<JsonObject>) {
      messages.push(message);
      if (messages.length === count) break;
    }
    return messages;
  } finally {
    call.on("error", () => {});
    call.cancel();
    client.close();
  }
};

/** buf curl over gRPC, which learns the messages by reflection and prints one JSON object a message. */
export const bufCurlStream: ForeignStream = async (place, request, count) => {
  const at = "socket" in place ? ["--unix-socket", place.socket] : [];
  const base = "socket" in place ? "http://localhost" : place.endpoint;
  const bearer = "token" in place ? [`authorization: Bearer ${place.token}`] : [];
  const headers = bearer.flatMap((header) => ["-H", header, "--reflect-header", header]);
  const args = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", ...at, ...headers];
  const url = `${base}/gin.v1.GinService/Watch`;
  const child = spawnOwned(process.execPath, [join(repo, "node_modules/.bin/buf"), ...args, "-d", JSON.stringify(request), url], {
    cwd: tempDir("buf"),
  });
  child.stdin.end();
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  let printed = "";
  for await (const text of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
    printed += text;
    const messages = objects(printed);
    if (messages.length >= count) {
      child.kill("SIGKILL");
      return messages.slice(0, count);
    }
  }
  throw new Error(`buf curl ended after ${objects(printed).length} messages: ${said}`);
};

/** The whole JSON objects of a text that has one after another: each begins and ends at the line's beginning. */
function objects(text: string): JsonObject[] {
  return [...text.matchAll(/^\{$[\s\S]*?^\}$|^\{.*\}$/gm)].map(([one]) => JSON.parse(one) as JsonObject);
}
