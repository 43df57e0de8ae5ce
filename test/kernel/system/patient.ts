import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { EngineError, JsonClient, type JsonObject, TransportError } from "../../../src/clients/sdk/index.ts";

/** Lower-case hex SHA-256. */
export const sha = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** Milliseconds between two attempts to reach a daemon that is being started again. */
const RETRY_MS = 20;

/** A client of the SDK that outlives its daemon: the same message, request id included, is sent until somebody answers. */
export class PatientClient {
  readonly #socket: string;
  readonly #principal: string;
  #client: JsonClient;
  /** Attempts that ended without an answer. */
  lost = 0;

  constructor(socket: string, principal: string) {
    this.#socket = socket;
    this.#principal = principal;
    this.#client = this.#open();
  }

  /** The response message, and whether the first attempt got it. Throws EngineError for refusals, but waits out BUSY and a drain. */
  async run(operation: string, message: JsonObject): Promise<JsonObject> {
    for (;;) {
      try {
        return await this.#client.run(operation, message);
      } catch (thrown) {
        const again =
          thrown instanceof TransportError ||
          (thrown instanceof EngineError && ["BUSY", "REQUEST_IN_PROGRESS"].includes(thrown.detail.reason));
        if (!again) throw thrown;
        this.lost++;
      }
      await wait(RETRY_MS);
    }
  }

  /** Drops the connection; the next call makes another. */
  reconnect(): void {
    this.#client.close();
    this.#client = this.#open();
  }

  close(): void {
    this.#client.close();
  }

  #open(): JsonClient {
    return new JsonClient({ target: { socketPath: this.#socket }, principal: this.#principal, client: "patient" });
  }
}

/** State of an answer. */
export function generationOf(answer: JsonObject): number {
  const state = answer.state as { generation: string };
  return Number(state.generation);
}

/** Reason of a refusal; anything else is thrown on. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof EngineError) return thrown.detail.reason;
  throw thrown;
}
