import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { ginBin } from "../helpers/gin.ts";
import { killGroup } from "../helpers/process.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** What standard input and output of the bridge are: Node hosts give socket pairs, shells and most others pipes. */
export type Channel = "socketpair" | "pipe";

/** Both, for tests that hold for either. */
export const CHANNELS: readonly Channel[] = ["socketpair", "pipe"];

/** A message as it came from the bridge. */
export interface Received {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject & { readonly isError?: boolean; readonly content?: readonly { text: string }[] };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

/** A tool's answer taken apart. */
export interface Told {
  readonly isError: boolean;
  readonly texts: readonly string[];
  /** The first text as JSON. */
  readonly json: JsonObject;
}

/** `gin mcp` as a host runs it, spoken to in raw JSON-RPC. */
export interface Bridge {
  readonly child: ChildProcess;
  readonly input: Writable;
  readonly output: Readable;
  /** Every message so far. */
  readonly received: readonly Received[];
  /** What it wrote on standard error. */
  stderr(): string;
  /** Writes one message. */
  send(message: object): void;
  /** Sends a request under the next free id (or `id`) and waits for its answer. */
  ask(method: string, params?: object, id?: string | number): Promise<Received>;
  /** Calls a tool and takes its answer apart. */
  tool(name: string, args?: object, id?: string | number): Promise<Told>;
  /** The first message that is so; it may have come already. */
  until(found: (message: Received) => boolean): Promise<Received>;
  /** Opens with `initialize` as a host named `name`. */
  initialize(version?: string, name?: string): Promise<Received>;
  /** How it ended. */
  readonly end: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Variables of a person's own gin that must not reach into a test. */
const CLEAN = Object.fromEntries(
  [
    "ENDPOINT",
    "TOKEN_FILE",
    "HOST",
    "DATA",
    "REPOSITORY",
    "WORKSPACE",
    "ROOT",
    "PRINCIPAL",
    "CA_FILE",
    "TIMEOUT",
    "NO_SPAWN",
    "MCP_PROFILE",
  ].map((name) => [`GIN_${name}`, undefined]),
);

/** How to start one. */
export interface BridgeOptions {
  readonly channel?: Channel;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Standard output in place of the channel's: a descriptor, whose reading end the test keeps. */
  readonly stdout?: number;
}

/** Starts `gin mcp ARGS` in a process group of its own. */
export function startBridge(args: readonly string[], options: BridgeOptions = {}): Bridge {
  const pipes = options.channel === "pipe" ? fifos() : undefined;
  const child = spawn(process.execPath, [ginBin, "mcp", ...args], {
    cwd: options.cwd ?? tempDir("cwd"),
    detached: true,
    stdio: [pipes?.childIn ?? "pipe", options.stdout ?? pipes?.childOut ?? "pipe", "pipe"],
    env: { ...process.env, ...CLEAN, CLAUDE_PROJECT_DIR: undefined, ...options.env },
  });
  atTeardown(() => killGroup(child.pid));
  if (pipes !== undefined) for (const fd of [pipes.childIn, pipes.childOut]) closeSync(fd);
  const input = pipes?.input ?? child.stdin;
  const output = pipes?.output ?? child.stdout ?? new Socket();
  if (input === null) throw new Error("no standard input");
  // A bridge that is gone does not read: the test sees its end, not ours.
  input.on("error", () => {});
  output.on("error", () => {});
  return new Started(child, input, output);
}

class Started implements Bridge {
  readonly child: ChildProcess;
  readonly input: Writable;
  readonly output: Readable;
  readonly received: Received[] = [];
  readonly end: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #nextId = 1000;
  #stderr = "";
  #waiting: { found: (message: Received) => boolean; resolve: (message: Received) => void; reject: (error: Error) => void }[] =
    [];

  constructor(child: ChildProcess, input: Writable, output: Readable) {
    this.child = child;
    this.input = input;
    this.output = output;
    let rest = "";
    output.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line) as Received);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.end = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    child.once("close", (code, signal) => {
      for (const { reject } of this.#waiting) reject(new Error(`gin mcp ended (${signal ?? code}): ${this.#stderr}`));
    });
  }

  stderr(): string {
    return this.#stderr;
  }

  send(message: object): void {
    this.input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  ask(method: string, params?: object, id: string | number = this.#nextId++): Promise<Received> {
    const answer = this.#wait((message) => message.id === id && message.method === undefined);
    this.send({ id, method, ...(params !== undefined && { params }) });
    return answer;
  }

  async tool(name: string, args: object = {}, id?: string | number): Promise<Told> {
    return told(await this.ask("tools/call", { name, arguments: args }, id));
  }

  until(found: (message: Received) => boolean): Promise<Received> {
    const already = this.received.find(found);
    return already === undefined ? this.#wait(found) : Promise.resolve(already);
  }

  async initialize(version = "2025-11-25", name = "tester"): Promise<Received> {
    const answer = await this.ask("initialize", {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name, version: "1" },
    });
    this.send({ method: "notifications/initialized" });
    return answer;
  }

  #wait(found: (message: Received) => boolean): Promise<Received> {
    return new Promise((resolve, reject) => this.#waiting.push({ found, resolve, reject }));
  }

  #take(message: Received): void {
    this.received.push(message);
    const at = this.#waiting.findIndex((waiting) => waiting.found(message));
    const [waiting] = at === -1 ? [] : this.#waiting.splice(at, 1);
    waiting?.resolve(message);
  }
}

/** A tool's answer taken apart. Throws for a protocol error. */
export function told(answer: Received): Told {
  if (answer.result?.content === undefined) throw new Error(`no tool answer: ${JSON.stringify(answer)}`);
  const texts = answer.result.content.map((content) => content.text);
  return { isError: answer.result.isError === true, texts, json: JSON.parse(texts[0] ?? "") as JsonObject };
}

/** `_meta` of the modern era, for requests of 2026-07-28. */
export function modern(params: object = {}, name = "tester", version = "2026-07-28"): object {
  return {
    ...params,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name, version: "1" },
    },
  };
}

/** Two pipes: named ones, because Node itself can make none, and the kernel treats both kinds alike. */
function fifos(): { childIn: number; childOut: number; input: Writable; output: Readable } {
  const dir = tempDir("fifo");
  const [to, from] = [join(dir, "in"), join(dir, "out")] as const;
  execFileSync("mkfifo", [to, from]);
  const nonBlocking = constants.O_RDONLY | constants.O_NONBLOCK;
  const childIn = openSync(to, nonBlocking);
  const input = new Socket({ fd: openSync(to, constants.O_WRONLY), readable: false, writable: true });
  const ours = openSync(from, nonBlocking);
  const childOut = openSync(from, constants.O_WRONLY);
  const output = new Socket({ fd: ours, readable: true, writable: false });
  return { childIn, childOut, input, output };
}
