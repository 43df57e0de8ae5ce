import { join } from "node:path";
import { createInterface } from "node:readline";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { runCommand, spawnOwned } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

/** Where a client calls: the socket, or a TCP endpoint with a token. */
export type Place = { readonly socket: string } | { readonly endpoint: string; readonly token: string };

/** An answer with names in snake case, or everything a refusal says in one text. */
export type Said =
  | { readonly answer: Record<string, unknown>; readonly refusal?: undefined }
  | { readonly refusal: string; readonly answer?: undefined };

/** A client that nobody here wrote, at one place. */
export type Foreign = (method: string, message: Record<string, unknown>) => Promise<Said>;

const authorization = (place: Place): string[] => ("token" in place ? [`authorization: Bearer ${place.token}`] : []);

/** buf curl over gRPC, which learns the messages by reflection. */
export function bufCurl(place: Place): Foreign {
  const at = "socket" in place ? ["--unix-socket", place.socket] : [];
  const base = "socket" in place ? "http://localhost" : place.endpoint;
  const headers = authorization(place).flatMap((header) => ["-H", header, "--reflect-header", header]);
  const fixed = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "--emit-defaults", ...at, ...headers];
  return async (method, message) => {
    const args = [...fixed, "-d", JSON.stringify(message), `${base}/gin.v1.GinService/${method}`];
    const done = await runCommand(process.execPath, [join(repo, "node_modules/.bin/buf"), ...args], { cwd: tempDir("buf") });
    if (done.code === 0) return { answer: snake(JSON.parse(done.stdout)) };
    // It prints details of types it does not know as they came.
    const details = [...done.stderr.matchAll(/"value": "([^"]+)"/g)].map((found) =>
      Buffer.from(found[1] ?? "", "base64").toString("latin1"),
    );
    return { refusal: [done.stderr, ...details].join(" ") };
  };
}

/** curl with Connect's JSON. */
export function curl(place: Place): Foreign {
  const at = "socket" in place ? ["--unix-socket", place.socket] : [];
  const base = "socket" in place ? "http://localhost" : place.endpoint;
  const headers = ["content-type: application/json", ...authorization(place)].flatMap((header) => ["-H", header]);
  return async (method, message) => {
    const url = `${base}/gin.v1.GinService/${method}`;
    const done = await runCommand(
      "curl",
      ["-sS", "-m", "20", "-w", "\n%{http_code}", ...at, ...headers, "--data-binary", "@-", url],
      {
        input: JSON.stringify(message),
      },
    );
    if (done.code !== 0) return { refusal: done.stderr };
    const cut = done.stdout.lastIndexOf("\n");
    const body = done.stdout.slice(0, cut);
    return done.stdout.slice(cut + 1) === "200" ? { answer: JSON.parse(body) as Record<string, unknown> } : { refusal: body };
  };
}

/** @grpc/grpc-js with the messages of proto/. */
export function grpcJs(place: Place): Foreign {
  const loaded = loadSync("gin/v1/service.proto", {
    includeDirs: [join(repo, "proto")],
    keepCase: true,
    enums: String,
    longs: String,
    defaults: true,
  });
  // A Unix socket has no host name of its own, and gin wants to know which one is meant.
  const authority = "socket" in place ? { "grpc.default_authority": "localhost" } : {};
  const Service = grpc.makeGenericClientConstructor(
    loaded["gin.v1.GinService"] as unknown as grpc.ServiceDefinition,
    "GinService",
  );
  const client = new Service(target(place), grpc.credentials.createInsecure(), authority);
  atTeardown(() => client.close());
  const metadata = new grpc.Metadata();
  if ("token" in place) metadata.set("authorization", `Bearer ${place.token}`);
  type Done = (error: grpc.ServiceError | null, answer: Record<string, unknown>) => void;
  const methods = client as unknown as Record<string, (message: object, metadata: grpc.Metadata, done: Done) => void>;
  return (method, message) =>
    new Promise((resolve) => {
      methods[method]?.(message, metadata, (error, answer) => {
        const details = error?.metadata.get("grpc-status-details-bin").map((one) => one.toString("latin1")) ?? [];
        resolve(error === null ? { answer } : { refusal: `${error.details} ${details.join(" ")}` });
      });
    });
}

/** Debian's python3 with grpcio and protobuf. */
export const PYTHON = "/usr/bin/python3";

/** Why there is no Python client here; undefined when there is one. */
export async function whyNoPython(): Promise<string | undefined> {
  const tried = await runCommand("sh", ["-c", `${PYTHON} -c 'import grpc, google.protobuf'`]);
  return tried.code === 0 ? undefined : "needs the packages python3-grpcio and python3-protobuf";
}

/** python3-grpcio with the descriptors of `buf build`. */
export async function python(place: Place): Promise<Foreign> {
  const image = join(tempDir("image"), "gin.binpb");
  const built = await runCommand(process.execPath, [join(repo, "node_modules/.bin/buf"), "build", "-o", image], { cwd: repo });
  if (built.code !== 0) throw new Error(built.stderr);
  const script = join(repo, "test/kernel/clients/foreign.py");
  const child = spawnOwned(PYTHON, [script, image, target(place), "token" in place ? place.token : ""]);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (method, message) => {
    child.stdin.write(`${JSON.stringify({ method, message })}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the Python client ended: ${said}`);
    return JSON.parse(value) as Said;
  };
}

const target = (place: Place): string => ("socket" in place ? `unix:${place.socket}` : new URL(place.endpoint).host);

/** Names in snake case, at every depth. */
function snake(value: Record<string, unknown>): Record<string, unknown> {
  const convert = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(convert);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(
      Object.entries(one).map(([name, inner]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        convert(inner),
      ]),
    );
  };
  return convert(value) as Record<string, unknown>;
}
