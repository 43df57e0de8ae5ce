import { ConnectionError, ResponseError } from "vscode-jsonrpc/node";
import { LSPErrorCodes } from "vscode-languageserver-protocol";
import { cutText, GinError } from "../../base/index.ts";
import type { ServerState } from "../types.ts";

/** Characters of a server's message that are passed on. */
const MESSAGE_CHARACTERS = 2_000;
/** Milliseconds after which it makes sense to ask again. */
const AGAIN_MS = 500;

const WORDS = {
  stopped: "was stopped",
  stopping: "is being stopped",
  starting: "is starting",
  indexing: "is still looking at the workspace",
  ready: "is ready",
  crashed: "crashed",
  broken: "crashed too often and is not started any more",
  timed_out: "did not answer in time",
  changing: "says that what was asked about is changing",
} as const satisfies Record<ServerState | "timed_out" | "changing", string>;

/** Why there is no answer: NOT_READY with the server and the state. `retryAfterMs` is by default half a second. "broken" does not mend by itself. */
export function notReady(server: string, state: keyof typeof WORDS, note = "", retryAfterMs = AGAIN_MS): GinError {
  const broken = state === "broken";
  return new GinError(
    "NOT_READY",
    `${server} ${WORDS[state]}${note === "" ? "" : `: ${note}`}`,
    broken ? "look at its status, then restart it" : undefined,
    { facts: { server, state }, retryable: !broken, retryAfterMs: broken ? 0 : Math.ceil(retryAfterMs) },
  );
}

/** The caller does not want it any more. */
export function givenUp(server: string): GinError {
  return new GinError("CANCELLED", `the caller gave up before ${server} had answered`);
}

/** What a server answered instead of a result; also when it ended before it did. */
export function refusal(server: string, thrown: unknown): GinError {
  if (!(thrown instanceof ResponseError) || isGone(thrown)) return notReady(server, "crashed");
  const { code, message } = thrown;
  if (CHANGING.has(code)) return notReady(server, "changing");
  return new GinError("LSP_REFUSED", `${server} refused with code ${code}`, undefined, {
    facts: { server, code, message: cutText(String(message), MESSAGE_CHARACTERS) },
  });
}

/** Whether it was our own end of the connection that threw: there is nobody at the other. */
export function isGone(thrown: unknown): boolean {
  return thrown instanceof ConnectionError || (thrown instanceof ResponseError && GONE.has(thrown.code));
}

/** RequestCancelled too: it was not us, as whoever cancelled does not wait for the answer. */
const CHANGING = new Set<number>([LSPErrorCodes.ContentModified, LSPErrorCodes.ServerCancelled, LSPErrorCodes.RequestCancelled]);
/** MessageWriteError, PendingResponseRejected, ConnectionInactive. */
const GONE = new Set<number>([-32_099, -32_097, -32_096]);
