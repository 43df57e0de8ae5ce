// A language server of a toy language that is honest, or misbehaves on command. Speaks LSP over stdio with its own framing.
//
//   node fake-server.mjs '{"encoding":"utf-8", ...}'
//
// Options, all optional:
//   encoding      "utf-8" | "utf-16" | "utf-32": taken when the client offers it (default "utf-16")
//   sync          "full" | "incremental" (default)
//   diagnostics   "pull" (default) | "push" | "both" | "none"
//   pushVersion   "right" (default) | "wrong" | "none"; pushDelayMs: milliseconds before a push (default 0)
//   beside        {"oldMs": [n, …], "fails": n}: of each text it pushes what it found in the one before, so many milliseconds after it was told; its first n looks
//                 fail: it says so on its standard error and pushes an empty list
//   watch         registers didChangeWatchedFiles by itself (default false)
//   fresh         reads the disk for each question; else it is stale until didChangeWatchedFiles, as tsc is (default)
//   outside       absolute path or URI: where the definition of a word `outside_…` lies
//   progress      {"token", "title", "ms"}: work done after `initialized`; "ms": null never ends; "afterMs" before it begins
//   ready         {"method", "params", "afterMs"}: a notification after `initialized`
//   stderr        said at start; "stderrBytes": so many bytes more, numbered lines
//   ignore        any of "cancel" (else a silent or delayed request that is cancelled is answered -32800), "shutdown", "exit",
//                 "stdin-end", "sigterm"
//   grandchild    starts a child that ignores SIGTERM and stdin's end; its pid is in `fake/log`
//   capabilities  laid over the advertised ones (null takes one away)
//   on            {METHOD: ACTION}: what a request or notification does instead; "initialize" and "shutdown" too
//   logFile       what it received is written there as JSON (as fake/log gives it) at each message
//   pidFile       its own pid and the grandchild's are written there, one a line
//
// ACTION: {"do": …, "times": n (default for ever)} with do =
//   "answer" (result) | "error" (code, message, data) | "silence" | "delay" (ms; then as usual) | "crash" (code: exit status, default 1)
//   "crash-mid" (half of an answer, then crash) | "huge" (bytes: a frame of that size) | "no-length" | "raw" (text: as it is, for the answer)
//   "bad-json" | "request" (method, params: asks the client and answers with {result} or {error} of it) | "notify" (method, params; then as usual)
//   "spam" (bytes: stderr, then as usual) | "deaf" (closes its standard input)
//
// Requests of its own: fake/log → {received: [{method, params, id?}], pid, grandchild, processId, cancelled: [id]}; fake/on {method, action|null} → null;
// fake/do ACTION → what it does; fake/text {uri} → {text, version} as it believes; fake/sleep {ms} → null, later.
//
// Abilities: definition, type_definition, implementation, references, hover, documentSymbol, workspace/symbol, call hierarchy, rename (new names
// "overlapping", "wrong_version", "edit_outside", "with_resources" make bad or special edits), prepareRename, formatting (trailing blanks),
// codeAction (with resolve), completion, signatureHelp. Toy language: `class X` and `def y` declare; `undefined_N` is an error unless declared.

import { spawn } from "node:child_process";
import { closeSync, writeFileSync } from "node:fs";
import { abilities } from "./fake-abilities.mjs";
import { Files } from "./fake-files.mjs";

const options = JSON.parse(process.argv[2] ?? "{}");
const ignores = new Set(options.ignore ?? []);
const actions = new Map(Object.entries(options.on ?? {}).map(([method, action]) => [method, { ...action }]));
const received = [];
const cancelled = [];
/** Requests not answered yet, by id: what to do when they are cancelled. */
const open = new Map();
/** Our requests to the client, by id. */
const asked = new Map();
let nextId = 1;
let processId = null;
let grandchild;
let grandchildUp;
let files;
let able;
let shutdown = false;

if (ignores.has("sigterm")) process.on("SIGTERM", () => {});
if (options.stderr !== undefined) process.stderr.write(options.stderr);
if (options.stderrBytes !== undefined) spam(options.stderrBytes);
if (options.grandchild === true) {
  const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); console.log('deaf')";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
  grandchild = child.pid;
  grandchildUp = new Promise((resolve) => child.stdout.once("data", resolve));
}
if (options.pidFile !== undefined) writeFileSync(options.pidFile, `${process.pid}\n${grandchild ?? ""}\n`);

function spam(bytes) {
  let text = "";
  for (let line = 1; text.length < bytes; line += 1) text += `spam line ${line}\n`;
  process.stderr.write(text.slice(0, bytes));
}

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
}

const notify = (method, params) => send({ method, params });

function request(method, params) {
  const id = `fake-${nextId++}`;
  send({ id, method, ...(params === undefined ? {} : { params }) });
  return new Promise((resolve) => asked.set(id, resolve));
}

/** Answers once; what is cancelled meanwhile was answered already. */
function answer(id, body) {
  if (!open.delete(id)) return;
  send({ id, ...body });
}

function crash(code = 1) {
  process.exit(code);
}

/** Does an action for a message; true when that was all, false when it goes on as usual. */
async function act(action, message) {
  const { id } = message;
  const write = (text) => new Promise((resolve) => process.stdout.write(text, resolve));
  switch (action.do) {
    case "answer":
      answer(id, { result: action.result ?? null });
      return true;
    case "error":
      answer(id, { error: { code: action.code ?? -32603, message: action.message ?? "no", data: action.data } });
      return true;
    case "silence":
      return true;
    case "delay":
      await new Promise((resolve) => setTimeout(resolve, action.ms));
      return false;
    case "crash":
      return crash(action.code);
    case "crash-mid":
      await write(`Content-Length: 1000\r\n\r\n{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"half":`);
      return crash(action.code);
    case "huge": {
      const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"`;
      await write(`Content-Length: ${action.bytes}\r\n\r\n${body}`);
      let left = action.bytes - Buffer.byteLength(body) - 2;
      const piece = "x".repeat(1 << 20);
      while (left > 0) {
        const part = piece.slice(0, Math.min(left, piece.length));
        left -= part.length;
        await write(part);
      }
      await write('"}');
      open.delete(id);
      return true;
    }
    case "no-length":
      await write(`Content-Type: application/json\r\n\r\n{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":null}`);
      return true;
    case "raw":
      await write(action.text);
      return true;
    case "bad-json":
      await write("Content-Length: 9\r\n\r\n{not json");
      return true;
    case "request":
      answer(id, { result: await request(action.method, action.params) });
      return true;
    case "notify":
      notify(action.method, action.params);
      return false;
    case "deaf":
      process.stdin.on("error", () => {}).destroy();
      try {
        closeSync(0);
      } catch {
        // Its destruction closed it already; it leaves it open most times.
      }
      return true;
    case "spam":
      spam(action.bytes);
      return false;
    default:
      throw new Error(`no such action: ${action.do}`);
  }
}

function begin({ progress, ready, watch }) {
  if (watch === true) {
    void request("client/registerCapability", {
      registrations: [
        { id: "watch", method: "workspace/didChangeWatchedFiles", registerOptions: { watchers: [{ globPattern: "**/*" }] } },
      ],
    });
  }
  if (ready !== undefined) setTimeout(() => notify(ready.method, ready.params ?? {}), ready.afterMs ?? 0);
  if (progress !== undefined) {
    const { token = "work", title = "Indexing", ms, afterMs = 0 } = progress;
    setTimeout(async () => {
      await request("window/workDoneProgress/create", { token });
      notify("$/progress", { token, value: { kind: "begin", title } });
      if (ms !== null) setTimeout(() => notify("$/progress", { token, value: { kind: "end" } }), ms ?? 0);
    }, afterMs);
  }
}

/** The server's life, beside its abilities. */
const LIFE = {
  async initialize(params) {
    processId = params.processId;
    await grandchildUp;
    const offered = params.capabilities?.general?.positionEncodings ?? ["utf-16"];
    const encoding = offered.includes(options.encoding) ? options.encoding : "utf-16";
    files = new Files(params.rootUri, encoding, options.fresh === true);
    able = abilities({ files, encoding, options, notify });
    return {
      capabilities: { positionEncoding: encoding, ...able.capabilities, ...options.capabilities },
      serverInfo: { name: "fake", version: "1.2.3" },
    };
  },
  initialized: () => begin(options),
  shutdown() {
    shutdown = true;
    return null;
  },
  exit() {
    if (!ignores.has("exit")) crash(shutdown ? 0 : 1);
  },
  "$/cancelRequest"({ id }) {
    cancelled.push(id);
    if (!ignores.has("cancel")) answer(id, { error: { code: -32800, message: "cancelled" } });
  },
  "fake/log": () => ({ received, cancelled, pid: process.pid, grandchild: grandchild ?? null, processId }),
  "fake/on"({ method, action }) {
    if (action === null) actions.delete(method);
    else actions.set(method, { ...action });
    return null;
  },
  "fake/do": () => null,
  "fake/text": ({ uri }) => files.known(uri),
  "fake/sleep": ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(null), ms)),
};

async function handle(message) {
  const { id, method, params } = message;
  if (method === undefined) {
    const { result, error } = message;
    asked.get(id)?.(error === undefined ? { result: result ?? null } : { error });
    asked.delete(id);
    return;
  }
  received.push({ method, ...("params" in message ? { params } : {}), ...(id === undefined ? {} : { id }) });
  if (options.logFile !== undefined) writeFileSync(options.logFile, JSON.stringify(LIFE["fake/log"]()));
  if (id !== undefined) open.set(id, method);
  if (method === "shutdown" && ignores.has("shutdown")) return;
  const action = method === "fake/do" ? params : actions.get(method);
  if (action !== undefined) {
    if (action.times !== undefined && --action.times < 1) actions.delete(method);
    if (await act(action, message)) return;
  }
  const work = LIFE[method] ?? able?.handlers[method];
  if (work === undefined) {
    if (id !== undefined) answer(id, { error: { code: -32601, message: `no such method: ${method}` } });
    return;
  }
  try {
    const result = await work(params);
    if (id !== undefined) answer(id, { result: result ?? null });
  } catch (error) {
    if (id === undefined) throw error;
    answer(id, { error: { code: error.code ?? -32603, message: error.message } });
  }
}

let buffered = Buffer.alloc(0);
process.stdin.on("data", (bytes) => {
  buffered = Buffer.concat([buffered, bytes]);
  for (;;) {
    const end = buffered.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(buffered.subarray(0, end).toString("latin1"))?.[1]);
    if (buffered.length < end + 4 + length) return;
    const message = JSON.parse(buffered.subarray(end + 4, end + 4 + length).toString("utf8"));
    buffered = buffered.subarray(end + 4 + length);
    void handle(message);
  }
});
process.stdin.on("end", () => {
  if (!ignores.has("stdin-end")) crash(0);
});
process.stdout.on("error", () => {
  if (!ignores.has("stdin-end")) crash(0);
});
// Keeps one alive that ignores its input's end.
if (ignores.has("stdin-end")) setInterval(() => {}, 1_000_000);
