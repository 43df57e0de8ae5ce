import { type JsonObject, openSession, type Prepared, type Session, type SessionOptions } from "../../clients/sdk/index.ts";
import { Turns } from "./turns.ts";

/** Longest principal, as the daemon takes it. */
const PRINCIPAL_CHARACTERS = 64;

/** The way to the daemon: one session, opened at the first call; reads side by side, mutations in the order they came. */
export class Daemon {
  readonly #configure: () => SessionOptions;
  readonly #readsOnly: boolean;
  readonly #turns = new Turns();
  #session: Session | undefined;
  #principal: string | undefined;

  /**
   * `configure` is asked at the first call, and again while it throws: what it throws is the answer to that call. `readsOnly`: a mutation is
   * a fault of the bridge, and is never sent.
   */
  constructor(configure: () => SessionOptions, readsOnly = false) {
    this.#configure = configure;
    this.#readsOnly = readsOnly;
  }

  /** The name under which this bridge's requests are recorded; undefined where a token says it, and before the first call. */
  get principal(): string | undefined {
    return this.#principal;
  }

  /**
   * Sends a request and gives the whole Response. A read ends with `signal`; a mutation is taken back only before it was sent. Throws what
   * the SDK throws, NotStarted, and for a bad configuration UsageError, TokenFileError or PathsError. `client` is the host's own name.
   */
  async send(prepared: Prepared, signal: AbortSignal, client: string | undefined): Promise<JsonObject> {
    if (prepared.mutation && this.#readsOnly) throw new Error("a profile that only reads made a mutation");
    if (!prepared.mutation) return await this.#open(client).call(prepared.request, { signal });
    // Not async before this line: the turn is taken in the order the calls came.
    return await this.#turns.take(async () => await this.#open(client).call(prepared.request), {
      signal,
      holds: !waits(prepared),
    });
  }

  /** Resolves when every mutation that was sent has ended. */
  settled(): Promise<void> {
    return this.#turns.idle();
  }

  /** Closes the connections. */
  close(): void {
    this.#session?.close();
  }

  #open(client: string | undefined): Session {
    if (this.#session !== undefined) return this.#session;
    const options = this.#configure();
    const onSocket = options.endpoint === undefined || options.endpoint.startsWith("unix:");
    const principal = options.principal ?? (onSocket ? principalOf(client) : undefined);
    this.#session = openSession({ ...options, principal });
    this.#principal = principal;
    return this.#session;
  }
}

/** "mcp-claude-code" for "Claude Code": what a principal may hold, the host's name still to be seen. "mcp" for a host without one. */
export function principalOf(client: string | undefined): string {
  const name = (client ?? "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, PRINCIPAL_CHARACTERS - "mcp-".length);
  return name === "" ? "mcp" : `mcp-${name}`;
}

/** A lease that is waited for. */
function waits(prepared: Prepared): boolean {
  const message = Object.values(prepared.request)[0];
  const wait =
    typeof message === "object" && message !== null && !Array.isArray(message) ? (message.wait_ms ?? message.waitMs) : 0;
  return prepared.operation === "acquire_lease" && Number(wait ?? 0) > 0;
}
