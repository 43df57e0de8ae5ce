// Bad input and bad days, and where each is tested. What is marked * is here, on the daemon as it is built.
//
// Paths: absolute, `..`, NUL, not UTF-8, 5,000 characters, `.git` spellings   unit/files/names, unit/api/read, *
//        case twins                                                          kernel/files/folding
//        symlinks out                                                        unit/files/contract, kernel/files/race.proof, *
//        FIFOs, sockets, devices; a directory for a file and the reverse     unit/files/special, unit/workspace/save, *
// Requests: unknown fields of each RPC (JSON, binary), wrong types, enums    unit/api/strict, *
//        17 MiB messages, compressed bombs                                   kernel/listener/refusals, kernel/api/messages, *
//        10,001 edits                                                        unit/api/save, *
//        tampered cursors                                                    unit/api/read, *
//        a request id reused with other content                              unit/api/requests, retries.proof
//        unknown methods and media types                                     kernel/listener/refusals, *
//        byte-at-a-time clients                                              kernel/listener/connections, *
// Days:  disk full                                                           kernel/store/disk, kernel/workspace/races, *
//        root deleted                                                        kernel/daemon/roots
//        store read-only                                                     kernel/store/disk, kernel/daemon/serve, * (while it is served as well)
//        store of a newer version; SQLite that did not install               kernel/daemon/serve
//        two daemons on one host                                             kernel/daemon/instance
//        two hosts on one root                                               kernel/daemon/roots
//        daemon killed in mid-save                                           kernel/workspace/kills.proof, history.proof, real-input
//        client gone in mid-save                                             retries.proof, *
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { basename, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { beforeAll, describe, expect, it } from "vitest";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { startDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { runCommand } from "../../helpers/process.ts";
import { chance } from "../../helpers/random.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { post as postJson } from "../daemon/daemon-process.ts";
import { sha } from "./patient.ts";

const MEBIBYTE = 1_048_576;

/** A file system of that many MiB, or why there is none. */
async function mounted(mebibytes: number): Promise<{ directory: string } | { reason: string }> {
  const directory = tempDir("mount");
  const done = await runCommand("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m,mode=700`, "tmpfs", directory]);
  if (done.code !== 0) return { reason: `a tmpfs cannot be mounted here: ${done.stderr.trim()}` };
  atTeardown(async () => void (await runCommand("umount", ["-l", directory])));
  return { directory };
}

/** A file system that can become read-only under open files, as one does whose disk fails, or why there is none. */
async function failing(): Promise<{ directory: string; fail: () => void; repair: () => Promise<void> } | { reason: string }> {
  const directory = tempDir("failing");
  const image = join(tempDir("image"), "ext4");
  const run = async (command: string, ...args: string[]): Promise<void> => {
    const done = await runCommand(command, args);
    if (done.code !== 0) throw new Error(`${command}: ${done.stderr.trim()}`);
  };
  const mount = () => run("mount", "-o", "loop,errors=remount-ro", image, directory);
  try {
    writeFileSync(image, "");
    truncateSync(image, 64 * MEBIBYTE);
    await run("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image);
    await mount();
  } catch (thrown) {
    return { reason: `an ext4 cannot be made and mounted here: ${(thrown as Error).message}` };
  }
  atTeardown(async () => void (await runCommand("umount", ["-l", directory])));
  const { stdout } = await runCommand("findmnt", ["-no", "SOURCE", directory]);
  const trigger = `/sys/fs/ext4/${basename(stdout.trim())}/trigger_fs_error`;
  if (!existsSync(trigger)) return { reason: "this kernel has no way to make an ext4 fail" };
  return {
    directory,
    fail: () => writeFileSync(trigger, "1"),
    async repair() {
      await run("umount", directory);
      // It says 1 when it has mended something.
      expect((await runCommand("e2fsck", ["-p", image])).code).toBeLessThanOrEqual(1);
      await mount();
    },
  };
}

/** Takes all but a little of a file system; gives the file to remove. */
function fill(directory: string, left: number): string {
  const filler = join(directory, "filler");
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  return filler;
}

const run = () => ({ XDG_RUNTIME_DIR: tempDir("run") });
const temps = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.includes(".gin-tmp-"));
const saving = (id: string, path: string, text: string, expect = "absent") => ({
  request_id: id,
  edits: [{ path, expect, text }],
});

describe("a full disk", () => {
  it("under the root refuses the save, changes nothing, and takes the same request once there is room", async (ctx) => {
    const place = await mounted(8);
    if ("reason" in place) return ctx.skip(place.reason);
    const { host } = tempHost();
    const root = join(place.directory, "root");
    mkdirSync(root);
    writeFileSync(join(root, "a.txt"), "one\n");
    const daemon = await startDaemon({ host, root, args: ["--listen", "none"], env: run() });
    const filler = fill(place.directory, 64 * 1024);
    const edits = [
      { path: "a.txt", expect: sha("one\n"), text: "two\n" },
      { path: "new/big.txt", expect: "absent", text: "x".repeat(MEBIBYTE) },
    ];
    const refused = await postJson(daemon.ready, "GinService/Save", { request_id: "full", edits });
    expect([refused.reason, readFileSync(join(root, "a.txt"), "utf8"), temps(root)]).toEqual(["DISK_FULL", "one\n", []]);
    expect(readdirSync(root)).toEqual(["a.txt"]);
    rmSync(filler);
    expect((await postJson(daemon.ready, "GinService/Save", { request_id: "full", edits })).status).toBe(200);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("two\n");
    await daemon.stop();
    return undefined;
  });

  it("under the store refuses the save, goes on reading, and loses nothing over a kill", async (ctx) => {
    const place = await mounted(16);
    if ("reason" in place) return ctx.skip(place.reason);
    const { root, host } = tempHost();
    const data = join(place.directory, "data");
    const start = { host, root, args: ["--listen", "none", "--data", data], env: run() };
    let daemon = await startDaemon(start);
    expect((await postJson(daemon.ready, "GinService/Save", saving("before", "a.txt", "one\n"))).status).toBe(200);
    const filler = fill(place.directory, 256 * 1024);
    // Random, so that it does not compress into the little that is left.
    const text = Buffer.from(chance("full disk").bytes(MEBIBYTE / 2)).toString("base64");
    const big = saving("big", "big.txt", text);
    const refused = await postJson(daemon.ready, "GinService/Save", big);
    expect([refused.reason, readdirSync(root)]).toEqual(["DISK_FULL", ["a.txt"]]);
    expect((await postJson(daemon.ready, "GinService/ReadPath", { path: "a.txt" })).body).toMatchObject({ text: "one\n" });
    await daemon.kill();
    rmSync(filler);
    daemon = await startDaemon(start);
    const outcome = await postJson(daemon.ready, "GinService/RequestOutcome", { target_request_id: "before" });
    expect(outcome.body).toMatchObject({ outcome: "OUTCOME_COMMITTED" });
    expect((await postJson(daemon.ready, "GinService/Save", big)).status).toBe(200);
    expect(sha(readFileSync(join(root, "big.txt")))).toBe(sha(text));
    await daemon.stop();
    return undefined;
  });
});

describe("a store that becomes read-only", () => {
  it("while it is served refuses saves, changes nothing, goes on reading, and loses nothing by it", async (ctx) => {
    const place = await failing();
    if ("reason" in place) return ctx.skip(place.reason);
    const { root, host } = tempHost();
    const data = join(place.directory, "data");
    const start = { host, root, args: ["--listen", "none", "--data", data], env: run() };
    let daemon = await startDaemon(start);
    expect((await postJson(daemon.ready, "GinService/Save", saving("before", "a.txt", "one\n"))).status).toBe(200);
    place.fail();
    const during = saving("during", "a.txt", "two\n", sha("one\n"));
    // Its files are open, so SQLite says no more than that it could not write; whether it wrote nothing at all, only a new start can tell.
    // Which write meets it first is open: this save, or what follows the answer to the one before.
    const stopped = /^(the store failed in a commit|applied saves could not be marked|a file could not be synced; .*)$/;
    for (const told of ["the disk refused the store", undefined]) {
      const refused = await postJson(daemon.ready, "GinService/Save", during);
      const message = String(refused.body.message);
      const note = message.startsWith("the workspace is stopped: ") ? message.slice(26) : undefined;
      expect([refused.reason, note ?? message]).toEqual([
        "IO_FAILED",
        note === undefined ? told : expect.stringMatching(stopped),
      ]);
    }
    expect([readFileSync(join(root, "a.txt"), "utf8"), temps(root)]).toEqual(["one\n", []]);
    expect((await postJson(daemon.ready, "GinService/ReadPath", { path: "a.txt" })).body).toMatchObject({ text: "one\n" });
    const listed = await postJson(daemon.ready, "AdminService/ListWorkspaces", {});
    expect(listed.body).toMatchObject({ workspaces: [{ status: "stopped", status_note: expect.stringMatching(stopped) }] });
    await daemon.kill();
    await expect(startDaemon(start)).rejects.toThrow("STORE_READ_ONLY");
    await place.repair();
    daemon = await startDaemon(start);
    const outcome = await postJson(daemon.ready, "GinService/RequestOutcome", { target_request_id: "before" });
    expect(outcome.body).toMatchObject({ outcome: "OUTCOME_COMMITTED" });
    expect((await postJson(daemon.ready, "GinService/Save", during)).status).toBe(200);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("two\n");
    await daemon.stop();
    return undefined;
  });

  it("between two daemons refuses the start with that reason, and is taken again afterwards", async (ctx) => {
    const place = await mounted(32);
    if ("reason" in place) return ctx.skip(place.reason);
    const { root, host } = tempHost();
    const data = join(place.directory, "data");
    const start = { host, root, args: ["--listen", "none", "--data", data], env: run() };
    let daemon = await startDaemon(start);
    expect((await postJson(daemon.ready, "GinService/Save", saving("before", "a.txt", "one\n"))).status).toBe(200);
    await daemon.kill();
    expect((await runCommand("mount", ["-o", "remount,ro", place.directory])).code).toBe(0);
    await expect(startDaemon(start)).rejects.toThrow("STORE_READ_ONLY");
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n");
    expect((await runCommand("mount", ["-o", "remount,rw", place.directory])).code).toBe(0);
    daemon = await startDaemon(start);
    expect((await postJson(daemon.ready, "GinService/Save", saving("after", "b.txt", "two\n"))).status).toBe(200);
    await daemon.stop();
    return undefined;
  });
});

describe("one daemon, asked badly", () => {
  let root: string;
  let daemon: TestDaemon;

  beforeAll(async () => {
    const made = tempHost();
    ({ root } = made);
    for (const name of ["a.txt", "b.txt", "c.txt"]) writeFileSync(join(root, name), "one\n");
    mkdirSync(join(root, "folder"));
    symlinkSync("/etc", join(root, "out"));
    await runCommand("mkfifo", [join(root, "fifo")]);
    const server = createServer().listen(join(root, "socket"));
    atTeardown(() => void server.close());
    daemon = await startDaemon({ ...made, args: ["--listen", "none"], env: run() });
  });

  /** Posts bytes as they are; gives the status and the reason. */
  function post(path: string, headers: Record<string, string>, body: string | Uint8Array): Promise<[number, string]> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { socketPath: daemon.ready.socket, host: "localhost", method: "POST", path, agent: false, headers },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => {
            const found = /"reason":\s*"([A-Z_]+)"/.exec(text);
            resolve([response.statusCode ?? 0, found?.[1] ?? ""]);
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  const json = { "content-type": "application/json" };
  const nothingChanged = (): void => {
    expect(readdirSync(root).sort()).toEqual(["a.txt", "b.txt", "c.txt", "fifo", "folder", "out", "socket"]);
    expect(["a.txt", "b.txt", "c.txt"].map((name) => readFileSync(join(root, name), "utf8"))).toEqual([
      "one\n",
      "one\n",
      "one\n",
    ]);
  };

  it("refuses bad paths with their own reasons, to read and to save, and touches nothing", async () => {
    const reasons: Record<string, string> = {};
    const bad: readonly [string, string][] = [
      ["/etc/passwd", "PATH_INVALID"],
      ["../a.txt", "PATH_INVALID"],
      ["folder/../../a.txt", "PATH_INVALID"],
      ["a\0.txt", "PATH_INVALID"],
      ["x".repeat(5_000), "PATH_INVALID"],
      [".git/config", "PATH_SENSITIVE"],
      [".GIT/config", "PATH_SENSITIVE"],
      [".g\u200bit/config", "PATH_SENSITIVE"],
      ["out/passwd", "PATH_OUTSIDE_WORKSPACE"],
      ["fifo", "NOT_A_FILE"],
      ["socket", "NOT_A_FILE"],
      ["a.txt/below", "NOT_A_DIRECTORY"],
    ];
    for (const [at, [path]] of bad.entries()) {
      const read = await postJson(daemon.ready, "GinService/ReadPath", { path });
      const saved = await postJson(daemon.ready, "GinService/Save", saving(`bad-${at}`, path, "x"));
      reasons[path.slice(0, 20)] = `${read.reason} ${saved.reason}`;
    }
    expect(reasons).toEqual(Object.fromEntries(bad.map(([path, reason]) => [path.slice(0, 20), `${reason} ${reason}`])));
    const folder = await postJson(daemon.ready, "GinService/Save", saving("bad-folder", "folder", "x"));
    expect(folder.reason).toBe("NOT_A_FILE");
    nothingChanged();
  });

  it("refuses an unknown field of every RPC, in JSON and in binary", async () => {
    const unknown = new BinaryWriter().tag(999, WireType.Varint).uint32(1).finish();
    // A stream takes enveloped messages only: its own test (unit/api/strict) sends it those.
    const unary = [...GinService.methods, ...AdminService.methods].filter((one) => one.methodKind === "unary");
    for (const method of unary) {
      const path = `/${method.parent.typeName}/${method.name}`;
      const [, byName] = await post(path, json, '{"bogus":1}');
      expect(byName, method.name).toBe("INVALID_REQUEST");
      const body = Buffer.concat([toBinary(method.input, create(method.input)), unknown]);
      // Errors are JSON whatever the request was; only Call answers in its own message, which holds the reason as text too.
      const bytes = await new Promise<string>((resolve, reject) => {
        const sent = request(
          {
            socketPath: daemon.ready.socket,
            host: "localhost",
            method: "POST",
            path,
            agent: false,
            headers: { "content-type": "application/proto" },
          },
          (response) => {
            let text = "";
            response.setEncoding("latin1").on("data", (chunk: string) => {
              text += chunk;
            });
            response.on("end", () => resolve(text));
          },
        );
        sent.on("error", reject);
        sent.end(body);
      });
      expect(bytes, method.name).toContain("INVALID_REQUEST");
    }
  });

  it("refuses messages of 17 MiB, packed ones that grow beyond the limit, and 10,001 edits", async () => {
    const large = JSON.stringify(saving("large", "large.txt", "x".repeat(17 * MEBIBYTE)));
    expect(await post("/gin.v1.GinService/Save", json, large)).toEqual([429, "TOO_LARGE"]);
    // What unpacks to 17 MiB where it is unpacked at all.
    for (const [encoding, packed, wanted] of [
      ["gzip", gzipSync(large), "TOO_LARGE"],
      ["br", brotliCompressSync(large), "MEDIA_TYPE_UNSUPPORTED"],
    ] as const) {
      expect(packed.byteLength).toBeLessThan(100_000);
      const [, reason] = await post("/gin.v1.GinService/Save", { ...json, "content-encoding": encoding }, packed);
      expect(reason, encoding).toBe(wanted);
    }
    const edits = Array.from({ length: 10_001 }, (_, at) => ({ path: `many/${at}`, expect: "absent", text: "" }));
    expect((await postJson(daemon.ready, "GinService/Save", { request_id: "many", edits })).reason).toBe("TOO_LARGE");
    nothingChanged();
  });

  it("lets a caller read its refusal who still sends and asked for the connection to be closed, and closes it then", async () => {
    const body = Buffer.alloc(17 * MEBIBYTE, "x");
    const socket = connect(daemon.ready.socket).setEncoding("utf8");
    let answer = "";
    socket.on("data", (text: string) => {
      answer += text;
    });
    const closed = new Promise<void>((resolve, reject) => socket.once("error", reject).once("close", resolve));
    socket.write(
      `POST /gin.v1.GinService/Save HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.byteLength}\r\n\r\n`,
    );
    socket.write(body);
    await closed;
    expect(answer).toContain("TOO_LARGE");
  });

  it("refuses cursors of which any byte was changed, unknown methods and media types", async () => {
    const page = await postJson(daemon.ready, "GinService/ReadPath", { path: "", limit: 2 });
    const cursor = String(page.body.next_cursor);
    expect((await postJson(daemon.ready, "GinService/ReadPath", { path: "", limit: 2, cursor })).status).toBe(200);
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      const answer = await postJson(daemon.ready, "GinService/ReadPath", { path: "", limit: 2, cursor: changed });
      expect(answer.reason, String(at)).toBe("INVALID_CURSOR");
    }
    expect((await post("/gin.v1.GinService/Nothing", json, "{}"))[1]).toBe("METHOD_UNKNOWN");
    expect((await post("/gin.v1.GinService/Save", { "content-type": "text/plain" }, "{}"))[1]).toBe("MEDIA_TYPE_UNSUPPORTED");
  });

  it("serves a client that sends byte after byte, and others meanwhile", async () => {
    const body = JSON.stringify({ path: "a.txt" });
    const bytes = Buffer.from(
      `POST /gin.v1.GinService/ReadPath HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const socket = connect(daemon.ready.socket).setNoDelay(true).setEncoding("utf8");
    let answer = "";
    socket.on("data", (text: string) => {
      answer += text;
    });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (const byte of bytes) {
      await new Promise((resolve) => socket.write(Uint8Array.of(byte), resolve));
      if (byte % 16 === 0) expect((await postJson(daemon.ready, "GinService/ReadPath", { path: "b.txt" })).status).toBe(200);
    }
    await closed;
    expect(answer).toContain('"one\\n"');
  });

  it("does a save whole or not at all when its caller hangs up, and says which", async () => {
    const random = chance("client gone");
    const outcomes = new Set<unknown>();
    let before = "one\n";
    for (let round = 0; round < 60; round++) {
      const after = `round ${round}\n`;
      const message = {
        request_id: `gone-${round}`,
        edits: ["b.txt", "c.txt"].map((path) => ({ path, expect: sha(before), text: after })),
      };
      const body = JSON.stringify(message);
      const socket = connect(daemon.ready.socket);
      socket.on("error", () => {});
      socket.write(
        `POST /gin.v1.GinService/Save HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      // At once, when the bytes have left, or when something came back.
      const when = random.int(3);
      if (when > 0)
        await new Promise<void>((resolve) =>
          when === 1 ? socket.write("", () => resolve()) : socket.once("data", () => resolve()),
        );
      socket.destroy();
      let outcome: unknown = "OUTCOME_IN_PROGRESS";
      while (outcome === "OUTCOME_IN_PROGRESS") {
        const asked = await postJson(daemon.ready, "GinService/RequestOutcome", { target_request_id: message.request_id });
        outcome = asked.body.outcome;
      }
      outcomes.add(outcome);
      if (outcome === "OUTCOME_NOT_FOUND") {
        // The daemon has not read it yet, or never will; the same request settles it either way.
        expect((await postJson(daemon.ready, "GinService/Save", message)).status).toBe(200);
        outcome = "OUTCOME_COMMITTED";
      }
      const wanted = outcome === "OUTCOME_COMMITTED" ? after : before;
      expect(["b.txt", "c.txt"].map((path) => readFileSync(join(root, path), "utf8"))).toEqual([wanted, wanted]);
      before = wanted;
    }
    expect([...outcomes]).toContain("OUTCOME_COMMITTED");
    // What somebody wrote a moment before it was replaced is looked at once more, a second later.
    await expect.poll(() => temps(root), { timeout: 20_000 }).toEqual([]);
  });
});
