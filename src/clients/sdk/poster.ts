import type { ClientRequest, IncomingMessage } from "node:http";
import { type Answer, codeOf, failureOf, GRACE_MS, PostFailure, type PostOptions, type Sender, type Target } from "./post.ts";
import { openRequester, type Requester } from "./requester.ts";

/**
 * Posts over kept-alive connections to one daemon. A connection that the daemon closed while it lay idle is noticed on the next POST, which
 * is then sent once more on a fresh connection: the same bytes with the same request id, so a mutation cannot run twice.
 */
export class Poster implements Sender {
  readonly #target: Target;
  readonly #headers: { readonly [name: string]: string };
  #opening: Promise<Requester> | undefined;
  #requester: Requester | undefined;

  /** `headers` go with every POST. */
  constructor(target: Target, headers: { readonly [name: string]: string }) {
    this.#target = target;
    this.#headers = headers;
  }

  async post(path: string, contentType: string, body: string | Uint8Array, options: PostOptions = {}): Promise<Answer> {
    const requester = this.#requester ?? (await this.#open());
    try {
      return await this.#once(requester, path, contentType, body, options);
    } catch (thrown) {
      if (!(thrown instanceof StaleConnection)) throw thrown;
    }
    requester.agent.destroy();
    try {
      return await this.#once(requester, path, contentType, body, options);
    } catch (thrown) {
      // The first attempt's bytes may have arrived, whatever became of the second.
      if (thrown instanceof StaleConnection)
        throw new PostFailure("the daemon closed the connection", "ECONNRESET", true, thrown);
      if (thrown instanceof PostFailure && !thrown.sent) throw new PostFailure(thrown.message, thrown.code, true, thrown.cause);
      throw thrown;
    }
  }

  close(): void {
    this.#requester?.agent.destroy();
  }

  /** Once, also for several first calls together. */
  async #open(): Promise<Requester> {
    this.#opening ??= openRequester(this.#target, { keepAlive: true, maxSockets: 64 });
    this.#requester = await this.#opening;
    return this.#requester;
  }

  #once(
    { agent, request, address }: Requester,
    path: string,
    contentType: string,
    body: string | Uint8Array,
    options: PostOptions,
  ): Promise<Answer> {
    const { timeoutMs = 0, signal } = options;
    return new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted) {
        reject(new PostFailure("cancelled before it was sent", "ABORTED", false, signal.reason));
        return;
      }
      let sending: ClientRequest;
      try {
        sending = request({
          ...address(path),
          method: "POST",
          agent,
          headers: {
            ...this.#headers,
            "content-type": contentType,
            "content-length": typeof body === "string" ? Buffer.byteLength(body) : body.byteLength,
            ...(timeoutMs > 0 && { "connect-timeout-ms": String(Math.ceil(timeoutMs)) }),
          },
        });
      } catch (thrown) {
        // A header or address that HTTP cannot carry: nothing left this process.
        reject(failureOf(thrown, false));
        return;
      }
      const state = { sent: false, answered: false };
      const finish = (settle: () => void): void => {
        if (timer !== undefined) clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        settle();
      };
      const fail = (failure: Error): void => finish(() => reject(failure));
      const stop = (message: string, code: string): void => {
        fail(new PostFailure(message, code, state.sent, signal?.reason));
        sending.destroy();
      };
      const abort = (): void => stop("cancelled", "ABORTED");
      const timer =
        timeoutMs > 0 ? setTimeout(() => stop(`no answer within ${timeoutMs} ms`, "TIMEOUT"), timeoutMs + GRACE_MS) : undefined;
      signal?.addEventListener("abort", abort, { once: true });
      watchSent(sending, state);
      sending.on("response", (response) => {
        state.answered = true;
        collect(response).then(
          (bytes) => finish(() => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes })),
          (thrown: unknown) => fail(failureOf(thrown, true)),
        );
      });
      sending.on("error", (thrown) => {
        const stale = sending.reusedSocket && !state.answered && ["ECONNRESET", "EPIPE"].includes(codeOf(thrown));
        fail(stale ? new StaleConnection("closed while idle", { cause: thrown }) : failureOf(thrown, state.sent));
      });
      sending.end(body);
    });
  }
}

/** An idle connection that turned out to be closed. Never leaves this file. */
class StaleConnection extends Error {}

/** Notes the moment from which bytes may have reached the daemon: the connection (for TLS, the handshake) is made. */
function watchSent(sending: ClientRequest, state: { sent: boolean }): void {
  sending.on("socket", (socket) => {
    if (sending.reusedSocket || !socket.connecting) state.sent = true;
    else socket.once("encrypted" in socket ? "secureConnect" : "connect", () => (state.sent = true));
  });
}

function collect(response: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    response.on("error", reject);
  });
}
