import type { Answer } from "./post.ts";

/** Bytes of status line and headers at most, as much as Node's own client takes; also of the trailers, and of one chunk's size line. */
const HEAD_MAX = 16 * 1024;

/** Bytes of a body at most: above every answer of a daemon, whose messages end at 16 MiB. */
export const BODY_MAX = 64 * 1024 * 1024;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Token, colon, and a value without control characters: a folded or nameless line is none. */
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

/** Bytes that are no answer to an HTTP/1.1 request, or more of one than is taken. */
export class BadAnswer extends Error {}

/**
 * Where reading stands: `status` (also between an interim answer and the final one) → `headers` → `length` when the body's length was told,
 * else `size` → `data` → `end of data` → `size` … → `trailers`; then `done`.
 */
type State = "status" | "headers" | "length" | "size" | "data" | "end of data" | "trailers" | "done";

/**
 * Reads one answer to a POST from its bytes, in whatever pieces they come. Strict, since it is asked of our own daemon alone: HTTP/1.1,
 * lines end in CRLF, the body is told by content-length or chunked and never both, so that a broken connection is never taken for an end.
 * Bytes after the answer are left unread.
 */
export class AnswerReader {
  readonly #bodyMax: number;
  #state: State = "status";
  /** Bytes not yet understood: part of a line, once `push` has returned. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of the lines that count against HEAD_MAX together. */
  #lineBytes = 0;
  #status = 0;
  #headers: { [name: string]: string } = {};
  /** Bytes still to come of the body, or of the chunk. */
  #left = 0;
  #bodyBytes = 0;
  readonly #body: Buffer[] = [];

  constructor(bodyMax: number = BODY_MAX) {
    this.#bodyMax = bodyMax;
  }

  /** Takes the next bytes; the answer once it is whole. Throws BadAnswer, after which the reader is of no use. */
  push(bytes: Buffer): Answer | undefined {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (this.#state !== "done") if (!this.#step()) return undefined;
    const [first] = this.#body;
    const body = this.#body.length === 1 && first !== undefined ? first : Buffer.concat(this.#body);
    return { status: this.#status, headers: this.#headers, body };
  }

  /** One line or one piece of body; false when more bytes are needed for it. */
  #step(): boolean {
    switch (this.#state) {
      case "length":
      case "data":
        return this.#take(this.#state === "length" ? "done" : "end of data");
      case "status":
        // Told apart at once, or a server that speaks something else and waits would be waited for.
        if (!"HTTP/1.1 ".startsWith(this.#rest.toString("latin1", 0, 9))) throw new BadAnswer("it is not HTTP/1.1");
    }
    const line = this.#line();
    if (line === undefined) return false;
    if (this.#state === "status") this.#startLine(line);
    else if (this.#state === "headers") line === "" ? this.#framing() : this.#header(line);
    else if (this.#state === "size") this.#chunk(line);
    else if (this.#state === "end of data") this.#afterChunk(line);
    else if (line === "") this.#state = "done";
    else if (!HEADER.test(line)) throw new BadAnswer("a trailer is malformed");
    return true;
  }

  /** The next line without its end, as latin1; undefined while it is not whole. */
  #line(): string | undefined {
    const end = this.#rest.indexOf(LINE_FEED);
    if (this.#lineBytes + (end < 0 ? this.#rest.length : end + 1) > HEAD_MAX) throw new BadAnswer("its head is too large");
    if (end < 0) return undefined;
    if (end === 0 || this.#rest[end - 1] !== CARRIAGE_RETURN) throw new BadAnswer("a line does not end in CRLF");
    const line = this.#rest.toString("latin1", 0, end - 1);
    this.#lineBytes += end + 1;
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  #startLine(line: string): void {
    const status = /^HTTP\/1\.1 ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(line)?.[1];
    if (status === undefined) throw new BadAnswer("its status line is malformed");
    // Nothing was asked to be upgraded.
    if (status === "101") throw new BadAnswer("it changes the protocol");
    this.#status = Number(status);
    this.#headers = Object.create(null) as { [name: string]: string };
    this.#state = "headers";
  }

  #header(line: string): void {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new BadAnswer("a header is malformed");
    const key = name.toLowerCase();
    const before = this.#headers[key];
    const trimmed = value.trimEnd();
    this.#headers[key] = before === undefined ? trimmed : `${before}, ${trimmed}`;
  }

  /** After the headers: how long the body is. */
  #framing(): void {
    if (this.#status < 200) {
      // An interim answer: the final one follows. The bytes of both count against one limit, so there is an end to them.
      this.#state = "status";
      return;
    }
    const { "transfer-encoding": coding, "content-length": length } = this.#headers;
    if (this.#status === 204 || this.#status === 304) {
      this.#state = "done";
    } else if (coding !== undefined) {
      if (length !== undefined || coding.toLowerCase() !== "chunked") throw new BadAnswer("its length is told in two ways");
      this.#nextChunk();
    } else {
      if (length === undefined || !/^\d{1,15}$/.test(length)) throw new BadAnswer("its length is not told");
      this.#expect(Number(length));
      this.#state = this.#left === 0 ? "done" : "length";
    }
  }

  #chunk(line: string): void {
    const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line)?.[1];
    if (size === undefined) throw new BadAnswer("a chunk's size is malformed");
    this.#expect(Number.parseInt(size, 16));
    this.#lineBytes = 0;
    this.#state = this.#left === 0 ? "trailers" : "data";
  }

  #afterChunk(line: string): void {
    if (line !== "") throw new BadAnswer("a chunk is longer than its size");
    this.#nextChunk();
  }

  #nextChunk(): void {
    this.#lineBytes = 0;
    this.#state = "size";
  }

  #expect(bytes: number): void {
    this.#left = bytes;
    this.#bodyBytes += bytes;
    if (this.#bodyBytes > this.#bodyMax) throw new BadAnswer("it is too large");
  }

  /** Moves bytes to the body; when none are missing any more, goes on with `next`. */
  #take(next: State): boolean {
    const piece = this.#rest.subarray(0, this.#left);
    if (piece.length === 0) return false;
    this.#body.push(piece);
    this.#left -= piece.length;
    this.#rest = this.#rest.subarray(piece.length);
    if (this.#left === 0) this.#state = next;
    return true;
  }
}
