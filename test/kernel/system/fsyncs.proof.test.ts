import { connect } from "node:net";
import { expect, it } from "vitest";
import { startDaemon } from "../../helpers/daemon.ts";
import { reportProof } from "../../helpers/proof.ts";
import { tempDir, tempHost } from "../../helpers/temp.ts";
import { post as postJson } from "../daemon/daemon-process.ts";
import { isSync, type SystemCall, Trace, whyNoStrace } from "./strace.ts";

/** Most syncs of one save, whatever its width. */
const MOST = 2;

/** Saves whose syncs are counted: how many files, and the bytes of each. */
const SAVES = [
  { files: 1, bytes: 4_096 },
  { files: 10, bytes: 4_096 },
  { files: 100, bytes: 4_096 },
  { files: 1_000, bytes: 100 },
  { files: 1, bytes: 2 * 1_048_576 },
  { files: 3, bytes: 2 * 1_048_576 },
];

/** Posts by hand, so that the first bytes of the request carry a marker that the trace of the daemon's read shows. */
function post(socketPath: string, marker: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    let answer = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
    const head = ["POST /gin.v1.GinService/Save HTTP/1.1", `x-marker: ${marker}`, "host: localhost", "connection: close"];
    head.push("content-type: application/json", `content-length: ${Buffer.byteLength(body)}`);
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}

/** The calls from the one that read the request up to the one that wrote its answer; undefined while the trace does not hold both. */
function whileSaving(calls: readonly SystemCall[], marker: string): { during: SystemCall[]; after: SystemCall[] } | undefined {
  const from = calls.findIndex(({ name, text }) => name === "read" && text.includes(`x-marker: ${marker}`));
  if (from < 0) return undefined;
  const to = calls.findIndex(({ name, text }, at) => at > from && name.startsWith("write") && text.includes('"HTTP/1.1 200'));
  return to < 0 ? undefined : { during: calls.slice(from, to + 1), after: calls.slice(to + 1) };
}

it("G19: a save syncs at most twice before its answer, whatever its width; its files are synced afterwards", {
  timeout: 300_000,
}, async (ctx) => {
  const reason = await whyNoStrace();
  if (reason !== undefined) return ctx.skip(reason);
  const { root, host } = tempHost();
  const daemon = await startDaemon({ host, root, args: ["--listen", "none"], env: { XDG_RUNTIME_DIR: tempDir("run") } });
  const trace = await Trace.attach(daemon.child.pid ?? 0);
  // The end of the first import writes too.
  const importing = async () => (await postJson(daemon.ready, "GinService/Context", { sections: ["import"] })).body;
  await expect.poll(importing, { timeout: 60_000 }).toMatchObject({ import: { done: true } });
  await settled(trace);
  const counted: number[] = [];
  const later: number[] = [];
  for (const [at, { files, bytes }] of SAVES.entries()) {
    const marker = `save-${at}-of-${files}`;
    // Four folders, so that directories to be synced are part of it.
    const edits = Array.from({ length: files }, (_, file) => ({
      path: `s${at}/d${file % 4}/f${file}`,
      expect: "absent",
      text: `${marker} ${file} `.padEnd(bytes, "gin "),
    }));
    const answer = await post(daemon.ready.socket, marker, JSON.stringify({ request_id: marker, edits }));
    expect(answer).toMatch(/^HTTP\/1.1 200/);
    const folders = Math.min(4, files) + 2;
    // The next save starts when this one is durable, so that no count holds another's syncs.
    const rest = () => (whileSaving(trace.calls(), marker)?.after ?? []).filter(isSync).length;
    await expect.poll(rest, { timeout: 60_000, interval: 50 }).toBeGreaterThanOrEqual(files + folders);
    await settled(trace);
    counted.push((whileSaving(trace.calls(), marker)?.during ?? []).filter(isSync).length);
    later.push(rest());
  }
  const uring = trace.calls().filter(({ name }) => name === "io_uring_enter").length;
  await trace.detach();
  await daemon.stop();
  reportProof({
    row: "G19",
    count: SAVES.length,
    violations: counted.filter((count) => count > MOST).length,
    ...Object.fromEntries(SAVES.map(({ files, bytes }, at) => [`${files}x${bytes}`, `${counted[at]} and ${later[at]} later`])),
  });
  expect(uring).toBe(0);
  // Counts, not bounds: one for the transaction, one more for a side segment.
  expect(counted).toEqual(SAVES.map(({ bytes }) => (bytes > 1_048_576 ? 2 : 1)));
  return undefined;
});

/** Waits until the daemon syncs no more: twice the same count, with an answered call between that the trace has seen. */
async function settled(trace: Trace): Promise<void> {
  let before = -1;
  await expect
    .poll(
      () => {
        const now = trace.calls().filter(isSync).length;
        const same = now === before;
        before = now;
        return same;
      },
      { timeout: 60_000, interval: 300 },
    )
    .toBe(true);
}
