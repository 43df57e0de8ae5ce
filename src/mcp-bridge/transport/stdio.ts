import type { Readable } from "node:stream";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { type Line, Lines } from "./lines.ts";
import { CODES, cancelledId, type Id, type Malformed, type Message, readMessage } from "./message.ts";
import type { Output } from "./output.ts";

/** `tools/call` requests that may wait or run at one time. */
export const CALLS_MAX = 32;

/** Messages taken from the input before everything else gets a turn. */
const BUFFERED_MAX = 32;

/** Bytes of one line: the largest Save the daemon takes, and room for the envelope around it. */
export const LINE_MAX_BYTES = 17 * 1_048_576;

/** How a conversation ended. */
export type End =
  /** Standard input was closed and everything asked was answered. */
  | "drained"
  /** Nobody reads standard output any more. */
  | "hung_up";

/**
 * MCP's stdio transport, a message a line. It admits at most CALLS_MAX calls and answers the next one busy at once, so that a cancellation
 * is never stuck behind them; answers what is no message instead of dropping it; stops reading while the host does not read; and at the end
 * of input answers what is pending before it closes. States: reading → draining (input ended) → closed; hung up from either.
 */
export class StdioTransport {
  onmessage?: (message: never) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #input: Readable;
  readonly #output: Output;
  readonly #onEnd: (end: End) => void;
  /** Requests not yet answered, with their methods. */
  readonly #pending = new Map<Id, string>();
  #calls = 0;
  #state: "reading" | "draining" | "closed" = "reading";

  /** `onEnd` is called once. */
  constructor(input: Readable, output: Output, onEnd: (end: End) => void) {
    this.#input = input;
    this.#output = output;
    this.#onEnd = onEnd;
  }

  /** Starts reading. */
  start(): Promise<void> {
    this.#output.onGone(() => this.#end("hung_up"));
    this.#read().then(
      () => this.#inputEnded(),
      // A broken input can say no more: the same as its end.
      () => this.#inputEnded(),
    );
    return Promise.resolve();
  }

  /** Sends an answer or a notification; resolves when there is room for the next. An answer nobody waits for is dropped. */
  send(message: object): Promise<void> {
    const id = answeredId(message);
    if (id !== undefined && !this.#settle(id)) return Promise.resolve();
    const room = this.#output.write(`${JSON.stringify(message)}\n`);
    this.#endIfDrained();
    return room;
  }

  /** Closes the conversation from this side. */
  close(): Promise<void> {
    if (this.#state !== "closed") {
      this.#state = "closed";
      this.#stopReading();
      this.onclose?.();
    }
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    const lines = new Lines(LINE_MAX_BYTES);
    let taken = 0;
    for await (const chunk of this.#input) {
      for (const line of lines.push(chunk as Buffer)) {
        this.#take(line);
        taken += 1;
        if (taken % BUFFERED_MAX === 0) await yieldToOthers();
        if (this.#output.full) await this.#output.room();
        if (this.#state === "closed") return;
      }
    }
    const rest = lines.rest();
    if (rest !== undefined) this.#take(rest);
  }

  #take(line: Line): void {
    if (line === "oversized") {
      this.#refuse(null, CODES.invalid, `Invalid request: a line has at most ${LINE_MAX_BYTES} bytes`);
    } else if (!isBlank(line)) {
      this.#admit(readMessage(line));
    }
  }

  #admit(message: Message | Malformed): void {
    if (message.kind === "malformed") {
      this.#refuse(message.id, message.code, message.reason);
      return;
    }
    if (message.kind === "request") {
      const { id, method } = message;
      if (this.#pending.has(id)) {
        this.#refuse(id, CODES.invalid, "Invalid request: a request with this id is still running");
        return;
      }
      if (method === "tools/call" && this.#calls >= CALLS_MAX) {
        this.#refuse(id, CODES.busy, `Busy: ${CALLS_MAX} calls are waiting or running; call again when one has been answered`);
        return;
      }
      this.#pending.set(id, method);
      this.#count(method, 1);
    }
    // The SDK stops what was cancelled and sends no answer for it, so its place is free from here on.
    const cancelled = cancelledId(message);
    if (cancelled !== undefined) this.#settle(cancelled);
    this.onmessage?.(message.message as never);
    this.#endIfDrained();
  }

  /** An answer of the transport itself; it belongs to no admitted request. */
  #refuse(id: Id | null, code: number, reason: string): void {
    void this.#output.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: reason } })}\n`);
  }

  #settle(id: Id): boolean {
    const method = this.#pending.get(id);
    if (method === undefined) return false;
    this.#pending.delete(id);
    this.#count(method, -1);
    return true;
  }

  #count(method: string, by: number): void {
    if (method !== "tools/call") return;
    this.#calls += by;
    this.#output.watch(this.#calls > 0);
  }

  #inputEnded(): void {
    if (this.#state !== "reading") return;
    this.#state = "draining";
    this.#endIfDrained();
  }

  #endIfDrained(): void {
    if (this.#state !== "draining") return;
    for (const method of this.#pending.values()) if (method !== "subscriptions/listen") return;
    this.#end("drained");
  }

  #end(end: End): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#stopReading();
    this.#onEnd(end);
    this.onclose?.();
  }

  #stopReading(): void {
    this.#output.watch(false);
    this.#input.destroy();
  }
}

/** The id a message answers; undefined for notifications. */
function answeredId(message: object): Id | undefined {
  if ("method" in message || !("id" in message)) return undefined;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

function isBlank(line: Buffer): boolean {
  return line.length < 256 && line.toString("latin1").trim() === "";
}
