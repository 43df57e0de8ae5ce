/** Where a daemon listens: its Unix socket, or a URL (`http://127.0.0.1:7400`, `https://…`). */
export type Target = { readonly socketPath: string } | { readonly url: URL; readonly tls?: TlsFiles };

/** PEM texts for TLS; all optional. `ca` replaces the built-in authorities. */
export interface TlsFiles {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Headers of an answer by their lower-case names. */
export type AnswerHeaders = { readonly [name: string]: string | readonly string[] | undefined };

/** One answer over HTTP, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** What one POST may be bounded by. */
export interface PostOptions {
  /** Milliseconds until the daemon is asked to give up; this side waits a second longer for its refusal. 0 is no bound. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How POSTs reach one daemon: over kept-alive connections (poster.ts), or each over its own (one-shot.ts). */
export interface Sender {
  /** The answer to one POST. Rejects with PostFailure and nothing else. */
  post(path: string, contentType: string, body: string | Uint8Array, options?: PostOptions): Promise<Answer>;
  /** Closes every connection; a POST after it opens new ones. */
  close(): void;
}

/** A POST without an answer. `sent` is false only when no byte can have reached a daemon. */
export class PostFailure extends Error {
  readonly code: string;
  readonly sent: boolean;

  constructor(message: string, code: string, sent: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = "PostFailure";
    this.code = code;
    this.sent = sent;
  }
}

/** How long this side waits beyond the deadline it sent, in milliseconds, so that the daemon's own refusal wins. */
export const GRACE_MS = 1000;

/** Errno or Node code of a fault; "UNKNOWN" when it has none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "UNKNOWN";
}

/** What a fault of the connection means to the person. */
export function failureOf(thrown: unknown, sent: boolean): PostFailure {
  const code = codeOf(thrown);
  const words: { [code: string]: string } = {
    ENOENT: "no daemon is running (there is no socket)",
    ECONNREFUSED: "no daemon is listening",
    EACCES: "the socket may not be used by this user",
    ECONNRESET: "the connection broke before the answer came",
    EPIPE: "the connection broke while the request was sent",
  };
  return new PostFailure(words[code] ?? `the connection failed (${code})`, code, sent, thrown);
}
