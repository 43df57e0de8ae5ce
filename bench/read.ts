// ReadPath of 4 KiB over the Unix socket: gin through its own SDK, against a bare HTTP server, grpc-js, and a Connect handler that answers a constant.
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { createClient } from "../src/clients/sdk/index.ts";
import { repo, scratch, start, startDaemon } from "./support/daemon.ts";
import { sideBySide, throughput } from "./support/measure.ts";
import { atLeast, atMost, report, shown } from "./support/report.ts";

const RUNS = 4_000;
const text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n".repeat(64);

const daemon = await startDaemon();
mkdirSync(join(daemon.root, "src"), { recursive: true });
writeFileSync(join(daemon.root, "src/file.txt"), text);
const sockets = scratch("read");
const peer = async (kind: string): Promise<string> => {
  const socket = join(sockets, kind);
  await start([process.execPath, "--import", "tsx", "bench/peers/read-peers.ts", kind, socket, text]);
  return socket;
};
const [bareSocket, connectSocket, grpcSocket] = [await peer("bare"), await peer("connect"), await peer("grpc")];

const gin = await daemon.client();
const floor = await createClient({ target: { socketPath: connectSocket }, client: "bench" });
const loaded = grpc.loadPackageDefinition(
  loadSync("gin/v1/service.proto", { includeDirs: [join(repo, "proto")], keepCase: true }),
);
type Stub = { ReadPath(request: object, done: (error: Error | null, answer: { text: string }) => void): void };
const Client = (
  loaded as unknown as { gin: { v1: { GinService: new (to: string, credentials: grpc.ChannelCredentials) => Stub } } }
).gin.v1.GinService;
const stub = new Client(`unix:${grpcSocket}`, grpc.credentials.createInsecure());
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

const bare = (): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const body = '{"path":"src/file.txt"}';
    const sent = request(
      {
        socketPath: bareSocket,
        path: "/",
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": body.length },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => resolve(JSON.parse(Buffer.concat(parts).toString())));
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
const grpcJs = (): Promise<unknown> =>
  new Promise((resolve, reject) =>
    stub.ReadPath({ path: "src/file.txt" }, (error, answer) => (error === null ? resolve(answer) : reject(error))),
  );
const readGin = async (): Promise<void> => {
  const answer = await gin.readPath({ path: "src/file.txt" });
  if (answer.text !== text) throw new Error("gin answered another text");
};
const readFloor = async (): Promise<void> => {
  const answer = await floor.readPath({ path: "src/file.txt" });
  if (answer.text !== text) throw new Error("the floor answered another text");
};

const cases = { gin: readGin, floor: readFloor, grpc: grpcJs, bare };
const one = await sideBySide(cases, { runs: RUNS, warm: 500, rounds: 20 });
const rates: Record<string, number[]> = { gin: [], floor: [], grpc: [], bare: [] };
for (let round = 0; round < 5; round++)
  for (const [name, call] of Object.entries(cases)) rates[name]?.push(await throughput(16, 150, call));
const rate = (name: keyof typeof cases): number => (rates[name] ?? []).sort((a, b) => a - b)[2] ?? Number.NaN;

report(
  "read",
  {
    "p50 to connect floor, 1 client": atMost(one.gin.p50 / one.floor.p50, 1.3),
    "p50 to grpc-js, 1 client": atMost(one.gin.p50 / one.grpc.p50, 1.3),
    "throughput to grpc-js, 16 clients": atLeast(rate("gin") / rate("grpc"), 0.9),
    "throughput to connect floor, 16 clients": shown(rate("gin") / rate("floor")),
    "bare http's throughput to grpc-js, 16 clients": shown(rate("bare") / rate("grpc")),
    "p50 to bare http, 1 client": shown(one.gin.p50 / one.bare.p50),
    "p99 to grpc-js, 1 client": shown(one.gin.at(0.99) / one.grpc.at(0.99)),
  },
  {
    gin_p50_ms: one.gin.p50,
    gin_p99_ms: one.gin.at(0.99),
    floor_p50_ms: one.floor.p50,
    grpc_p50_ms: one.grpc.p50,
    bare_p50_ms: one.bare.p50,
    gin_per_second: rate("gin"),
    grpc_per_second: rate("grpc"),
    bare_per_second: rate("bare"),
  },
  RUNS,
);
await daemon.stop();
process.exit(0);
