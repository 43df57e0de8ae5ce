import { connect, type Socket } from "node:net";
import { AnswerReader, BadAnswer } from "./answer-reader.ts";
import { type Answer, failureOf, GRACE_MS, PostFailure, type PostOptions, type Sender } from "./post.ts";

/** What a header cannot carry, as Node's own client has it. */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Posts to a daemon's Unix socket, each time over a connection of its own: for a process that asks once and ends. It loads no node:http,
 * which is most of what such a process would spend. Whoever asks often keeps its connections: poster.ts.
 */
export class OneShot implements Sender {
  readonly #socketPath: string;
  readonly #headers: { readonly [name: string]: string };
  readonly #open = new Set<Socket>();

  /** `headers` go with every POST. */
  constructor(socketPath: string, headers: { readonly [name: string]: string }) {
    this.#socketPath = socketPath;
    this.#headers = headers;
  }

  post(path: string, contentType: string, body: string | Uint8Array, options: PostOptions = {}): Promise<Answer> {
    const { timeoutMs = 0, signal } = options;
    return new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted) {
        reject(new PostFailure("cancelled before it was sent", "ABORTED", false, signal.reason));
        return;
      }
      const head = this.#head(path, contentType, typeof body === "string" ? Buffer.byteLength(body) : body.byteLength, timeoutMs);
      const socket = connect(this.#socketPath);
      this.#open.add(socket);
      // True from the moment that bytes may have reached the daemon.
      let sent = false;
      const reader = new AnswerReader();
      const finish = (settle: () => void): void => {
        if (timer !== undefined) clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#open.delete(socket);
        settle();
        socket.destroy();
      };
      const fail = (failure: PostFailure): void => finish(() => reject(failure));
      const abort = (): void => fail(new PostFailure("cancelled", "ABORTED", sent, signal?.reason));
      const late = (): void => fail(new PostFailure(`no answer within ${timeoutMs} ms`, "TIMEOUT", sent));
      const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs + GRACE_MS) : undefined;
      signal?.addEventListener("abort", abort, { once: true });
      socket.on("connect", () => {
        sent = true;
      });
      socket.on("data", (bytes: Buffer) => {
        // What was already on its way when this POST was settled.
        if (socket.destroyed) return;
        try {
          const answer = reader.push(bytes);
          if (answer !== undefined) finish(() => resolve(answer));
        } catch (thrown) {
          if (!(thrown instanceof BadAnswer)) throw thrown;
          fail(new PostFailure(`the answer is not one of a gin daemon: ${thrown.message}`, "NOT_GIN", true, thrown));
        }
      });
      socket.on("error", (thrown) => fail(failureOf(thrown, sent)));
      socket.on("close", () => fail(failureOf(BROKEN, sent)));
      socket.cork();
      socket.write(head, "latin1");
      socket.write(body);
      socket.uncork();
    });
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Request line and headers. Throws PostFailure for what HTTP cannot carry: nothing left this process. */
  #head(path: string, contentType: string, length: number, timeoutMs: number): string {
    const headers = {
      host: "localhost",
      connection: "close",
      ...this.#headers,
      "content-type": contentType,
      "content-length": String(length),
      ...(timeoutMs > 0 && { "connect-timeout-ms": String(Math.ceil(timeoutMs)) }),
    };
    let head = `POST ${path} HTTP/1.1\r\n`;
    for (const [name, value] of Object.entries(headers)) {
      if (UNFIT.test(value))
        throw new PostFailure(`the header ${name} has a character HTTP cannot carry`, "ERR_INVALID_CHAR", false);
      head += `${name}: ${value}\r\n`;
    }
    return `${head}\r\n`;
  }
}

/** The end of a connection without an answer, where the system reports no error of its own. */
const BROKEN = Object.assign(new Error("closed"), { code: "ECONNRESET" });
