import { execFileSync } from "node:child_process";
import { on } from "node:events";
import { chmodSync, copyFileSync, existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { runCommand } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { type Harness, start } from "./harness.ts";
import { detailOfJson } from "./raw.ts";

const READ = "gin.v1.GinService/ReadPath";
let harness: Harness;
let port: number;
let socket: string;

beforeAll(async () => {
  harness = await start();
  ({ port } = await harness.listener.listenTcp({ host: "127.0.0.1", port: 0 }));
  socket = `${harness.directory}/gin.sock`;
  await harness.listener.listenSocket(socket);
});
afterAll(() => harness.close());

const buf = (...args: string[]) =>
  runCommand(process.execPath, [`${repo}/node_modules/.bin/buf`, ...args], { cwd: harness.directory });
const curl = (...args: string[]) => runCommand("curl", ["-sS", "-m", "20", ...args]);

describe("buf curl, without a schema", () => {
  test.each(["grpc", "grpcweb", "connect"])("reads over TCP and the socket by %s", async (protocol) => {
    const args = ["curl", "--protocol", protocol, "--http2-prior-knowledge", "-d", '{"path":"a"}'];
    const overTcp = await buf(
      ...args,
      "-H",
      `authorization: Bearer ${harness.token}`,
      "--reflect-header",
      `authorization: Bearer ${harness.token}`,
      `http://127.0.0.1:${port}/${READ}`,
    );
    expect({ stderr: overTcp.stderr, code: overTcp.code }).toEqual({ stderr: "", code: 0 });
    expect(JSON.parse(overTcp.stdout)).toMatchObject({ path: "a", sha256: "agent-7" });
    const onSocket = await buf(...args, "--unix-socket", socket, "-H", "gin-principal: alice/tests", `http://gin/${READ}`);
    expect({ stderr: onSocket.stderr, code: onSocket.code }).toEqual({ stderr: "", code: 0 });
    expect(JSON.parse(onSocket.stdout)).toMatchObject({ sha256: "alice/tests" });
  });

  test("lists what is served by v1 and v1alpha, and needs a token for that over TCP", async () => {
    for (const version of ["grpc-v1", "grpc-v1alpha"]) {
      const listed = await buf(
        "curl",
        "--http2-prior-knowledge",
        "--reflect-protocol",
        version,
        "--unix-socket",
        socket,
        "--list-methods",
        "http://gin",
      );
      expect(listed.stderr).toBe("");
      expect(listed.stdout).toContain("gin.v1.GinService/Save");
      expect(listed.stdout).toContain("grpc.health.v1.Health/Check");
    }
    const refused = await buf("curl", "--http2-prior-knowledge", "--list-methods", `http://127.0.0.1:${port}`);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("not authenticated");
  });
});

describe("plain curl", () => {
  test.each([["--http1.1"], ["--http2-prior-knowledge"], ["--http2"]])("reads with %s", async (version) => {
    const json = ["-H", "content-type: application/json", "-d", '{"path":"b"}'];
    const overTcp = await curl(
      version,
      ...json,
      "-H",
      `authorization: Bearer ${harness.token}`,
      `http://127.0.0.1:${port}/${READ}`,
    );
    expect(JSON.parse(overTcp.stdout)).toMatchObject({ path: "b", sha256: "agent-7" });
    const onSocket = await curl(version, ...json, "--unix-socket", socket, `http://localhost/${READ}`);
    expect(JSON.parse(onSocket.stdout)).toMatchObject({ path: "b", sha256: "owner" });
  });

  test("an upload of 17 MiB reads its refusal", async () => {
    const file = `${harness.directory}/large`;
    writeFileSync(file, `{"path":"${"x".repeat(17 * 1024 * 1024)}"}`);
    for (const how of [["--http1.1"], ["--http2-prior-knowledge"], ["--http1.1", "-H", "transfer-encoding: chunked"]]) {
      const answer = await curl(
        ...how,
        "--unix-socket",
        socket,
        "-H",
        "content-type: application/json",
        "--data-binary",
        `@${file}`,
        "http://localhost/gin.v1.GinService/Save",
      );
      expect(detailOfJson(Buffer.from(answer.stdout)).reason).toBe("TOO_LARGE");
    }
  });

  test("a bad token on the socket is refused, though none is needed", async () => {
    const answer = await curl(
      "--unix-socket",
      socket,
      "-H",
      "content-type: application/json",
      "-H",
      "authorization: Bearer gin_wrong",
      "-d",
      "{}",
      `http://localhost/${READ}`,
    );
    expect(detailOfJson(Buffer.from(answer.stdout)).reason).toBe("UNAUTHENTICATED");
  });
});

describe("grpc-js", () => {
  const protos = loadSync(["gin/v1/service.proto", "grpc/health/v1/health.proto"], {
    includeDirs: [`${repo}/proto`],
    keepCase: true,
    enums: String,
  });
  type Callback = (error: grpc.ServiceError | null, answer: Record<string, unknown>) => void;
  type Client = grpc.Client & Record<string, (request: object, metadata: grpc.Metadata, callback: Callback) => void>;
  const clients: grpc.Client[] = [];
  afterAll(() => {
    for (const client of clients) client.close();
  });

  function client(service: string, target: string, authority = `127.0.0.1:${port}`): Client {
    const loaded = protos[service];
    if (loaded === undefined || (!("service" in (loaded as object)) && typeof loaded !== "object")) throw new Error(service);
    const Constructor = grpc.makeGenericClientConstructor(loaded as unknown as grpc.ServiceDefinition, service);
    const made = new Constructor(target, grpc.credentials.createInsecure(), { "grpc.default_authority": authority });
    clients.push(made);
    return made as unknown as Client;
  }

  function call(of: Client, method: string, request: object, authorization?: string): Promise<Record<string, unknown>> {
    const metadata = new grpc.Metadata();
    if (authorization !== undefined) metadata.set("authorization", authorization);
    return new Promise((resolve, reject) => {
      of[method]?.(request, metadata, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
  }

  test("reads and saves over TCP and the socket, 15 MiB too", async () => {
    for (const target of [`127.0.0.1:${port}`, `unix:${socket}`]) {
      const gin = client("gin.v1.GinService", target);
      const bearer = `Bearer ${harness.token}`;
      expect(await call(gin, "ReadPath", { path: "c" }, bearer)).toMatchObject({ path: "c", sha256: "agent-7" });
      const edits = [{ path: "a", data: Buffer.alloc(15 * 1024 * 1024) }];
      expect(await call(gin, "Save", { edits }, bearer)).toMatchObject({ checkpoint: "ck_1" });
      const tooLarge = call(gin, "Save", { edits: [{ path: "a", data: Buffer.alloc(17 * 1024 * 1024) }] }, bearer);
      await expect(tooLarge).rejects.toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED });
      expect(await call(gin, "ReadPath", { path: "after" }, bearer)).toMatchObject({ path: "after" });
    }
    const nobody = call(client("gin.v1.GinService", `127.0.0.1:${port}`), "ReadPath", { path: "c" });
    await expect(nobody).rejects.toMatchObject({ code: grpc.status.UNAUTHENTICATED });
  });

  test("health needs no token and tells only SERVING or NOT_SERVING", async () => {
    const health = client("grpc.health.v1.Health", `127.0.0.1:${port}`);
    expect(await call(health, "Check", {})).toEqual({ status: "SERVING" });
    expect(await call(health, "Check", { service: "nobody.knows" })).toEqual({ status: "SERVING" });
    harness.listener.setServing(false);
    expect(await call(health, "Check", {})).toEqual({ status: "NOT_SERVING" });
    harness.listener.setServing(true);
  });

  test("a health watch hears of changes and does not hold up a drain", async () => {
    const other = await start();
    const bound = await other.listener.listenTcp({ host: "127.0.0.1", port: 0 });
    const health = client("grpc.health.v1.Health", `127.0.0.1:${bound.port}`, `127.0.0.1:${bound.port}`);
    const watch = health as unknown as { Watch: (request: object) => grpc.ClientReadableStream<{ status: string }> };
    const heard: string[] = [];
    const stream = watch.Watch({});
    stream.on("error", (cause) => heard.push(String(cause)));
    const statuses = on(stream, "data");
    const status = async (): Promise<void> => void heard.push((await statuses.next()).value[0].status);
    await status();
    heard.push(`drained ${await other.listener.drain(60_000)}`);
    await status();
    expect([...heard].sort()).toEqual(["NOT_SERVING", "SERVING", "drained true"]);
    await other.close();
  });
});

test("python3-grpcio, where there is one, reads", async (ctx) => {
  const probe = await runCommand("/usr/bin/python3", ["-c", "import grpc"]);
  if (probe.code !== 0) ctx.skip("python3-grpcio is not installed");
  const script = `
import grpc, sys
channel = grpc.insecure_channel(sys.argv[1], options=[("grpc.default_authority", "gin")])
call = channel.unary_unary("/gin.v1.GinService/ReadPath")
print(call(b"\\x22\\x01a", timeout=20).hex())
`;
  const read = await runCommand("/usr/bin/python3", ["-c", script, `unix:${socket}`]);
  expect(read.stderr).toBe("");
  expect(Buffer.from(read.stdout.trim(), "hex").toString("latin1")).toContain("owner");
});

describe("the socket's file", () => {
  test("is 0600, has no temporary beside it, and replaces a leftover", async () => {
    const stat = lstatSync(socket);
    expect({ socket: stat.isSocket(), mode: stat.mode & 0o777 }).toEqual({ socket: true, mode: 0o600 });
    expect(readdirSync(harness.directory).filter((name) => name.startsWith("."))).toEqual([]);
    const other = await start();
    const path = `${other.directory}/gin.sock`;
    writeFileSync(path, "left over");
    await other.listener.listenSocket(path);
    expect(lstatSync(path).isSocket()).toBe(true);
    await other.listener.close();
    expect(existsSync(path)).toBe(false);
    await other.close();
  });

  test("is left alone at the end when another daemon's stands there", async () => {
    const other = await start();
    const path = `${other.directory}/gin.sock`;
    await other.listener.listenSocket(path);
    const next = await start();
    await next.listener.listenSocket(path);
    await other.listener.close();
    expect(
      (await curl("--unix-socket", path, "-H", "content-type: application/json", "-d", "{}", `http://localhost/${READ}`)).code,
    ).toBe(0);
    await next.close();
    await other.close();
  });

  test("refuses a path that is too long for a socket", async () => {
    await expect(harness.listener.listenSocket(`${harness.directory}/${"x".repeat(100)}`)).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
    });
  });
});

describe("TCP addresses", () => {
  test.each(["0.0.0.0", "::", "192.0.2.1", "example.com"])("%s without TLS is refused, saying what to pass", async (host) => {
    const refused = await harness.listener.listenTcp({ host, port: 0 }).catch((cause: unknown) => cause);
    expect(refused).toBeInstanceOf(GinError);
    expect(refused).toMatchObject({ reason: "INVALID_REQUEST", suggestion: expect.stringContaining("--tls-cert") });
  });

  test("a taken port is told as such, and the listener goes on", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => blocker.once("listening", resolve));
    const address = blocker.address();
    const taken = typeof address === "object" && address !== null ? address.port : 0;
    await expect(harness.listener.listenTcp({ host: "127.0.0.1", port: taken })).rejects.toMatchObject({
      reason: "IO_FAILED",
      facts: { errno: "EADDRINUSE" },
    });
    blocker.close();
    const again = await harness.listener.listenTcp({ host: "localhost", port: 0 });
    expect(again.url).toBe(`http://${again.host === "::1" ? "[::1]" : "127.0.0.1"}:${again.port}`);
  });
});

describe("TLS", () => {
  let tls: Harness;
  let bound: Awaited<ReturnType<Harness["listener"]["listenTcp"]>>;
  let files: { certFile: string; keyFile: string };

  function makeCert(name: string, ...more: string[]): { certFile: string; keyFile: string } {
    const made = { certFile: `${tls.directory}/${name}.pem`, keyFile: `${tls.directory}/${name}.key` };
    const args = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
    ];
    execFileSync(
      "openssl",
      [...args, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", made.keyFile, "-out", made.certFile, ...more],
      { stdio: "pipe" },
    );
    chmodSync(made.keyFile, 0o600);
    return made;
  }

  /** Who the server says it is, or how the handshake failed. */
  function peer(atPort: number, options: object = {}): Promise<string> {
    return new Promise((resolve) => {
      const connection = connectTls({
        port: atPort,
        host: "127.0.0.1",
        rejectUnauthorized: false,
        ALPNProtocols: ["h2", "http/1.1"],
        ...options,
      });
      connection.on("error", (cause: Error & { code?: string }) => resolve(cause.code ?? cause.message));
      connection.once("secureConnect", () => {
        resolve(
          `${String(connection.getPeerCertificate().subject.CN)} ${connection.getProtocol()} ${String(connection.alpnProtocol)}`,
        );
        connection.destroy();
      });
    });
  }

  beforeAll(async () => {
    tls = await start({ limits: { tlsPollMs: 50 } });
    files = makeCert("first");
    bound = await tls.listener.listenTcp({ host: "0.0.0.0", port: 0, tls: files });
  });
  afterAll(() => tls.close());

  test("serves both HTTP versions by ALPN, TLS 1.3 at least, beyond loopback too", async () => {
    expect(bound).toMatchObject({ tls: true, url: `https://0.0.0.0:${bound.port}` });
    expect(await peer(bound.port)).toBe("first TLSv1.3 h2");
    expect(await peer(bound.port, { ALPNProtocols: ["http/1.1"] })).toBe("first TLSv1.3 http/1.1");
    expect(await peer(bound.port, { maxVersion: "TLSv1.2" })).toMatch(/ALERT_PROTOCOL_VERSION|ECONNRESET/);
    for (const version of ["--http1.1", "--http2"]) {
      const args = [
        "--cacert",
        files.certFile,
        "-H",
        "content-type: application/json",
        "-d",
        '{"path":"t"}',
        `https://127.0.0.1:${bound.port}/${READ}`,
      ];
      const read = await curl(version, "-H", `authorization: Bearer ${tls.token}`, ...args);
      expect(read.stderr).toBe("");
      expect(JSON.parse(read.stdout)).toMatchObject({ path: "t" });
      expect(detailOfJson(Buffer.from((await curl(version, ...args)).stdout)).reason).toBe("UNAUTHENTICATED");
    }
    const clear = await curl("-d", "{}", `http://127.0.0.1:${bound.port}/${READ}`);
    expect(clear.code).not.toBe(0);
  });

  test("takes a changed certificate by itself, and keeps the old one when the new one is bad", async () => {
    const second = makeCert("second");
    const whole = tls.log.next("the TLS certificate was read again");
    copyFileSync(second.keyFile, files.keyFile);
    copyFileSync(second.certFile, files.certFile);
    // Key and certificate are two files: a look between the two finds neither pair whole, and the next one does.
    await whole;
    expect(await peer(bound.port)).toMatch(/^second/);
    const refused = tls.log.next("the new TLS certificate cannot be used");
    writeFileSync(files.certFile, "no PEM");
    await refused;
    expect(await peer(bound.port)).toBe("second TLSv1.3 h2");
    const third = makeCert("third");
    copyFileSync(third.keyFile, files.keyFile);
    copyFileSync(third.certFile, files.certFile);
    tls.listener.reloadTls();
    expect(await peer(bound.port)).toBe("third TLSv1.3 h2");
  });

  test("refuses files that are not fit", async () => {
    const good = makeCert("good");
    const other = makeCert("other");
    const refuse = (more: object) => tls.listener.listenTcp({ host: "127.0.0.1", port: 0, tls: { ...good, ...more } });
    await expect(refuse({ keyFile: other.keyFile })).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
    await expect(refuse({ certFile: `${tls.directory}/none` })).rejects.toMatchObject({
      reason: "INVALID_REQUEST",
      message: expect.stringContaining("ENOENT"),
    });
    chmodSync(good.keyFile, 0o644);
    await expect(refuse({})).rejects.toMatchObject({ reason: "INVALID_REQUEST", message: expect.stringContaining("mode") });
  });

  test("asks for client certificates when it has a CA for them", async () => {
    const client = makeCert("client");
    const stranger = makeCert("stranger");
    const server = makeCert("server");
    const at = await tls.listener.listenTcp({ host: "127.0.0.1", port: 0, tls: { ...server, clientCaFile: client.certFile } });
    const call = (...more: string[]) =>
      curl(
        "--cacert",
        server.certFile,
        ...more,
        "-H",
        `authorization: Bearer ${tls.token}`,
        "-H",
        "content-type: application/json",
        "-d",
        "{}",
        `https://127.0.0.1:${at.port}/${READ}`,
      );
    expect((await call("--cert", client.certFile, "--key", client.keyFile)).code).toBe(0);
    expect((await call()).code).not.toBe(0);
    expect((await call("--cert", stranger.certFile, "--key", stranger.keyFile)).code).not.toBe(0);
  });

  test("garbage and silence do not hold it", async () => {
    const shaken = await start({ limits: { sniffMs: 100 } });
    const at = await shaken.listener.listenTcp({ host: "127.0.0.1", port: 0, tls: makeCert("shaken") });
    const { dial, drained } = await import("./raw.ts");
    const silent = await dial({ port: at.port });
    const garbage = await dial({ port: at.port });
    garbage.write("GET / HTTP/1.1\r\n\r\n");
    await Promise.all([drained(silent), drained(garbage)]);
    await expect.poll(() => shaken.listener.stats().connections, { timeout: 60_000, interval: 5 }).toBe(0);
    await shaken.close();
  });
});
