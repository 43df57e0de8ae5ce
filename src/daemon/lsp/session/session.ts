import type { ServerState } from "../types.ts";
import { givenUp, notReady } from "./failures.ts";
import { moved, NEVER_STARTED, type ServerEvent } from "./machine.ts";
import { whenOver } from "./over.ts";
import { ServerRun, type SessionDeps } from "./run.ts";
import type { Deadline, LaunchSpec, Run, Session } from "./types.ts";

/** A server that is started when it is first needed. */
export function createSession(spec: LaunchSpec, deps: SessionDeps): Session {
  return new ServerSession(spec, deps);
}

class ServerSession implements Session {
  readonly #spec: LaunchSpec;
  readonly #deps: SessionDeps;
  readonly #listeners = new Set<(state: ServerState) => void>();
  /** Those who wait for anything to change. */
  readonly #waiting = new Set<() => void>();
  #machine = NEVER_STARTED;
  /** The last one started, also after its end. */
  #run: ServerRun | undefined;
  #running = false;
  #runs = 0;
  #restarts = 0;
  #note = "";
  #stopping: Promise<void> | undefined;
  #closed = false;

  constructor(spec: LaunchSpec, deps: SessionDeps) {
    this.#spec = spec;
    this.#deps = deps;
  }

  get server(): string {
    return this.#spec.server;
  }

  get state(): ServerState {
    return this.#machine.state;
  }

  get note(): string {
    return this.#note;
  }

  get progress(): readonly string[] {
    return this.#running ? (this.#run?.progress() ?? []) : [];
  }

  get restarts(): number {
    return this.#restarts;
  }

  get stderrTail(): string {
    return this.#run?.stderrTail ?? "";
  }

  get pid(): number | undefined {
    return this.#running ? this.#run?.pid : undefined;
  }

  get current(): Run | undefined {
    return this.#run?.usable === true ? this.#run : undefined;
  }

  async run(deadline: Deadline, evenIndexing = false): Promise<Run> {
    // A caller sees one crash at most: what it asks for may be what ends the server.
    let tried = false;
    for (;;) {
      if (deadline.signal.aborted) throw givenUp(this.server);
      // Who waits did not give up: another one is started for whoever asks again.
      if (this.#closed) throw notReady(this.server, "stopped");
      const { state, startAtMs } = this.#machine;
      const run = this.current;
      if (run !== undefined && (state === "ready" || (state === "indexing" && evenIndexing))) return run;
      const now = this.#deps.clock.monotonicMs();
      if (state === "broken") throw notReady(this.server, state, this.#note);
      if (state === "crashed" && (tried || startAtMs >= deadline.atMs)) {
        throw notReady(this.server, state, this.#note, Math.max(0, startAtMs - now));
      }
      if (now >= deadline.atMs)
        throw notReady(this.server, state === "indexing" || state === "crashed" ? state : "starting", this.#note);
      // The process before is waited for: two at once would share what they keep on disk.
      const startable = (state === "stopped" || state === "crashed") && !this.#running;
      if (startable && now >= startAtMs) this.#start(state === "crashed");
      else await this.#change(deadline, startable ? startAtMs : deadline.atMs);
      tried ||= this.#machine.state !== "crashed";
    }
  }

  onState(listener: (state: ServerState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.stop();
  }

  async #stop(): Promise<void> {
    this.#move("stop", "");
    const run = this.#run;
    if (this.#machine.state === "stopping") {
      await run?.stop();
      this.#move("ended", "");
    } else await run?.ended;
  }

  #start(again: boolean): void {
    if (again) this.#restarts += 1;
    this.#runs += 1;
    const run = new ServerRun(this.#spec, this.#runs, this.#deps, {
      known: (known) => {
        if (known) this.#move("known", "");
        else this.#move(this.#machine.state === "starting" ? "initialised" : "working", "");
      },
      down: (note) => {
        this.#deps.log.warn({ server: this.server, note }, "a language server ended by itself");
        this.#move("ended", note);
      },
    });
    this.#run = run;
    this.#running = true;
    void run.ended.then(() => {
      this.#running = false;
      this.#wake();
    });
    this.#move("start", "");
    void run.initialise();
  }

  #move(event: ServerEvent, note: string): void {
    const before = this.#machine;
    this.#machine = moved(before, event, this.#deps.clock.monotonicMs());
    if (this.#machine === before) return;
    this.#note = note;
    const { state } = this.#machine;
    for (const listener of [...this.#listeners]) {
      try {
        listener(state);
      } catch (err) {
        this.#deps.log.error({ server: this.server, state, err }, "a listener of a language server's state failed");
      }
    }
    this.#wake();
  }

  #wake(): void {
    // Each takes itself out.
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when anything changed, the caller gave up, or the time has come. */
  #change({ atMs, signal }: Deadline, untilMs: number): Promise<void> {
    return new Promise((resolve) => {
      let end = (): void => {};
      const wake = (): void => {
        this.#waiting.delete(wake);
        end();
        resolve();
      };
      this.#waiting.add(wake);
      end = whenOver(this.#deps.clock, { atMs: Math.min(untilMs, atMs), signal }, wake);
    });
  }
}
