import {
  CancellationTokenSource,
  createMessageConnection,
  type Message,
  type MessageConnection,
  ResponseError,
} from "vscode-jsonrpc/node";
import type { InitializeResult, ServerCapabilities } from "vscode-languageserver-protocol";
import type { Clock, Commands, GinError, Log, OpenCommand } from "../../base/index.ts";
import { ENCODINGS, initializeParams } from "./capabilities.ts";
import { givenUp, isGone, notReady, refusal } from "./failures.ts";
import { whenOver } from "./over.ts";
import { Progress } from "./progress.ts";
import { watchReadiness } from "./readiness.ts";
import { plainInfo } from "./server-info.ts";
import { answerServer, Registrations } from "./server-requests.ts";
import { Failures, Tail } from "./tail.ts";
import type { Deadline, Encoding, LaunchSpec, Run } from "./types.ts";
import { Wire } from "./wire.ts";

/** What a session is made of. */
export interface SessionDeps {
  readonly clock: Clock;
  readonly commands: Commands;
  readonly log: Log;
  /** Of this process: servers watch it, and end when it is gone. */
  readonly processId: number;
  /** Of gin. */
  readonly version: string;
}

/** What a run tells its session. */
export interface RunListener {
  /** Whether it knows the workspace: after initialisation, and on each change. */
  known(known: boolean): void;
  /** It is of no use any more, by itself: why, for people. Once, and not after `stop`. */
  down(note: string): void;
}

/** Milliseconds for `shutdown`, then for ending after `exit`, then after SIGTERM. */
const SHUTDOWN_MS = 2_000;
const EXIT_MS = 1_000;
const TERMINATE_MS = 1_000;
/** So many questions unanswered in so many milliseconds of silence: it hangs. Long, as a busy one may be as silent. */
const HANGS_AFTER = 3;
const HANGS_MS = 120_000;
/** Answers that may be due to requests that were given up: the connection keeps each of these. */
const MOST_DUE = 1_000;

/** Who waits for an answer; undefined once nobody does. */
interface Asker {
  waits: { answered(result: unknown): void; refused(thrown: unknown): void } | undefined;
}

/** One process of a server: started at once, to be initialised by `initialise`. */
export class ServerRun implements Run {
  readonly number: number;
  readonly ended: Promise<void>;
  readonly #spec: LaunchSpec;
  readonly #deps: SessionDeps;
  readonly #listener: RunListener;
  readonly #process: OpenCommand;
  readonly #connection: MessageConnection;
  readonly #registrations = new Registrations();
  readonly #progress = new Progress();
  readonly #tail = new Tail();
  readonly #failures: Failures;
  readonly #listeners = new Map<string, Set<(params: unknown) => void>>();
  /** Ends each request that is not answered. */
  readonly #asked = new Set<(why: GinError) => void>();
  #initialised: { readonly result: InitializeResult; readonly encoding: Encoding } | undefined;
  #endHandshake: (() => void) | undefined;
  #endReadiness: (() => void) | undefined;
  /** Why nothing can be asked any more. */
  #over: "stopped" | "crashed" | undefined;
  #heardMs: number;
  #unanswered = 0;
  /** Requests that were given up and not answered since. */
  #due = 0;
  #doubtful = false;

  constructor(spec: LaunchSpec, number: number, deps: SessionDeps, listener: RunListener) {
    const { clock, commands } = deps;
    this.#spec = spec;
    this.number = number;
    this.#deps = deps;
    this.#listener = listener;
    this.#heardMs = clock.monotonicMs();
    const [file = "", ...args] = spec.command;
    this.#process = commands.open({ file, args, cwd: spec.directory, env: spec.env, endsWithUs: true });
    this.#failures = new Failures(spec.failures);
    this.#process.onErrors((bytes) => {
      this.#tail.add(bytes);
      this.#failures.add(bytes);
    });
    const wire = new Wire(this.#process, clock, {
      broken: (note) => this.#fail(note),
      heard: () => {
        this.#heardMs = clock.monotonicMs();
        this.#unanswered = 0;
      },
    });
    this.#connection = createMessageConnection(wire.reader, wire.writer, undefined, {
      messageStrategy: {
        handleMessage: (message: Message, next: (message: Message) => void) => {
          wire.handled();
          return next(message);
        },
      },
    });
    this.#connection.onNotification((method, params) => this.#hear(method, params));
    const { doubts } = spec;
    if (doubts !== undefined) {
      this.on("window/logMessage", (params) => {
        const { message } = (params ?? {}) as { readonly message?: unknown };
        this.#doubtful ||= typeof message === "string" && message.search(doubts) >= 0;
      });
    }
    this.#connection.onNotification("$/progress", (params: unknown) => {
      this.#progress.hear(params);
      this.#hear("$/progress", params);
    });
    answerServer(this.#connection, spec, this.#registrations, (method, params) => this.#hear(method, params));
    this.#connection.listen();
    this.ended = this.#process.ended.then(({ status, reason }) => {
      this.#down(endNote(this.#process.pid, status, reason));
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get stderrTail(): string {
    return this.#tail.text();
  }

  get doubtful(): boolean {
    return this.#doubtful;
  }

  get failures(): number {
    return this.#failures.count;
  }

  /** Whether it can be asked. */
  get usable(): boolean {
    return this.#initialised !== undefined && this.#over === undefined;
  }

  get encoding(): Encoding {
    return this.#initialised?.encoding ?? "utf-16";
  }

  get capabilities(): ServerCapabilities {
    return this.#registrations.over(this.#initialised?.result.capabilities ?? {});
  }

  get info(): InitializeResult["serverInfo"] {
    return plainInfo(this.#initialised?.result.serverInfo);
  }

  /** Shakes hands and watches readiness from then on. Never rejects: what fails ends the run. */
  async initialise(): Promise<void> {
    const limit = this.#spec.initializeMs;
    this.#endHandshake = this.#deps.clock.after(limit, () => this.#fail(`it did not answer initialize within ${limit} ms`));
    try {
      await this.#shakeHands();
      this.#endHandshake();
    } catch (thrown) {
      // What could not be written has its reason in the program's end, which says so itself.
      if (isGone(thrown)) return;
      this.#fail(thrown instanceof ResponseError ? `it refused initialize with code ${thrown.code}` : (thrown as Error).message);
    }
  }

  async #shakeHands(): Promise<void> {
    const { clock, processId, version } = this.#deps;
    const spec = this.#spec;
    const result = await this.#connection.sendRequest("initialize", initializeParams(spec, { processId, version }));
    if (this.#over !== undefined) return;
    this.#initialised = understood(result);
    const settings = spec.settings(undefined) ?? null;
    // Handed over at once, so that nothing that is asked comes before them.
    const told = [this.#tell("initialized", {})];
    if (settings !== null && !spec.asksSettings) told.push(this.#tell("workspace/didChangeConfiguration", { settings }));
    await Promise.all(told);
    if (this.#over !== undefined) return;
    const signs = {
      clock,
      progress: this.#progress,
      on: (method: string, listener: (params: unknown) => void) => void this.on(method, listener),
    };
    this.#endReadiness = watchReadiness(spec.readiness, signs, (known) => this.#listener.known(known));
  }

  request(method: string, params: unknown, deadline: Deadline): Promise<unknown> {
    const { server } = this.#spec;
    const { clock } = this.#deps;
    return new Promise((resolve, reject) => {
      if (deadline.signal.aborted) return reject(givenUp(server));
      if (this.#over !== undefined) return reject(notReady(server, this.#over));
      if (clock.monotonicMs() >= deadline.atMs) return reject(notReady(server, "timed_out"));
      const token = new CancellationTokenSource();
      let end = (): void => {};
      const over = (): void => {
        asker.waits = undefined;
        this.#asked.delete(give);
        end();
      };
      const give = (why: GinError): void => {
        over();
        this.#due += 1;
        token.cancel();
        reject(why);
      };
      const waits = {
        answered: (result: unknown): void => {
          over();
          resolve(result);
        },
        refused: (thrown: unknown): void => {
          over();
          reject(refusal(server, thrown));
        },
      };
      const asker: Asker = { waits };
      this.#asked.add(give);
      this.#hearFor(asker, this.#send(method, params, token));
      end = whenOver(clock, deadline, (how) => {
        give(how === "cancelled" ? givenUp(server) : notReady(server, "timed_out"));
        if (how === "timed_out") this.#lookForLife();
        if (this.#due > MOST_DUE) this.#fail(`it left ${this.#due} questions unanswered`);
      });
    });
  }

  /** In a scope of its own: the connection keeps what waits for an answer as long as none comes, with all that this scope holds. */
  #hearFor(asker: Asker, coming: Promise<unknown>): void {
    coming.then(
      (result) => (asker.waits === undefined ? this.#late() : asker.waits.answered(result)),
      (thrown: unknown) => (asker.waits === undefined ? this.#late() : asker.waits.refused(thrown)),
    );
  }

  #late(): void {
    this.#due -= 1;
  }

  async notify(method: string, params: unknown): Promise<void> {
    const { server } = this.#spec;
    if (this.#over !== undefined) throw notReady(server, this.#over);
    if (!(await this.#tell(method, params))) throw notReady(server, this.#over ?? "crashed");
  }

  on(method: string, listener: (params: unknown) => void): () => void {
    const all = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, all.add(listener));
    return () => void all.delete(listener);
  }

  registered(method: string): readonly unknown[] {
    return this.#registrations.of(method);
  }

  progress(): readonly string[] {
    return this.#progress.titles();
  }

  /** Has it end: asked, then told, then made to. Resolves when nothing of it is left; never rejects. */
  async stop(): Promise<void> {
    const polite = this.usable;
    this.#leave("stopped");
    if (polite) {
      const params = this.#spec.shutdownParams === "null" ? NULL_PARAMS : undefined;
      await this.#within(
        SHUTDOWN_MS,
        this.#send("shutdown", params).catch(() => {}),
      );
      void this.#tell("exit", undefined);
      this.#process.end();
      if (await this.#within(EXIT_MS, this.#process.ended)) return this.#gone();
    }
    this.#process.terminate();
    if (!(await this.#within(TERMINATE_MS, this.#process.ended))) await this.#process.close();
    return this.#gone();
  }

  async #gone(): Promise<void> {
    await this.ended;
    this.#connection.dispose();
  }

  /** Ends it for what it did. */
  #fail(note: string): void {
    if (this.#over !== undefined) return;
    this.#down(note);
    void this.#process.close();
  }

  #down(note: string): void {
    if (this.#over !== undefined) return;
    this.#leave("crashed");
    this.#connection.dispose();
    this.#listener.down(note);
  }

  #leave(how: "stopped" | "crashed"): void {
    if (this.#over !== undefined) return;
    this.#over = how;
    this.#endHandshake?.();
    this.#endReadiness?.();
    for (const give of [...this.#asked]) give(notReady(this.#spec.server, how));
  }

  /** A server that answers nothing and says nothing will not begin to. */
  #lookForLife(): void {
    this.#unanswered += 1;
    const silent = this.#deps.clock.monotonicMs() - this.#heardMs;
    if (this.#unanswered < HANGS_AFTER || silent < HANGS_MS) return;
    this.#fail(`it said nothing for ${Math.floor(silent / 1000)} s, and ${this.#unanswered} questions ran out of time`);
  }

  #hear(method: string, params: unknown): void {
    for (const listener of [...(this.#listeners.get(method) ?? [])]) {
      try {
        listener(params);
      } catch (err) {
        this.#deps.log.error({ server: this.#spec.server, method, err }, "a listener of a language server failed");
      }
    }
  }

  /** The connection takes a lone undefined for a param. */
  async #send(method: string, params: unknown, token = new CancellationTokenSource()): Promise<unknown> {
    return params === undefined
      ? this.#connection.sendRequest(method, token.token)
      : this.#connection.sendRequest(method, params, token.token);
  }

  /** False when it was gone before it took it. */
  async #tell(method: string, params: unknown): Promise<boolean> {
    try {
      await (params === undefined
        ? this.#connection.sendNotification(method)
        : this.#connection.sendNotification(method, params));
      return true;
    } catch {
      // Not written: there is nobody to write to, and `ended` says so.
      return false;
    }
  }

  /** True when it came to pass in time. */
  #within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const late = this.#deps.clock.after(ms, () => resolve(false));
      void work.then(() => {
        late();
        resolve(true);
      });
    });
  }
}

/** The connection would send null as the list [null]; this is written as null. */
const NULL_PARAMS = { toJSON: () => null };

function understood(result: unknown): { readonly result: InitializeResult; readonly encoding: Encoding } {
  const said = result as Partial<InitializeResult> | null;
  if (typeof said?.capabilities !== "object" || said.capabilities === null)
    throw new Error("it answered initialize with no capabilities");
  const encoding = said.capabilities.positionEncoding ?? "utf-16";
  const known = ENCODINGS.find((one) => one === encoding);
  if (known === undefined) throw new Error("it counts characters in a way it was not offered");
  return { result: { ...said, capabilities: said.capabilities }, encoding: known };
}

function endNote(pid: number | undefined, status: number, reason: string): string {
  if (pid === undefined || (status === 127 && reason.startsWith("setpriv:"))) {
    const missing = /ENOENT|No such file/.test(reason);
    return `it could not be started${missing ? ": its program or its directory is not there" : ""}`;
  }
  return `it ended with exit status ${status}${SIGNALS[status] ?? ""}`;
}

/** Of exit statuses that stand for a signal. */
const SIGNALS: Readonly<Record<number, string>> = {
  134: " (SIGABRT)",
  137: " (SIGKILL: by the system when memory is short, or by somebody)",
  139: " (SIGSEGV)",
  143: " (SIGTERM)",
};
