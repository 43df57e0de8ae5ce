const LF = 0x0a;

/** One line without its end, or the news that one is longer than it may be. */
export type Line = Buffer | "oversized";

/** Cuts a byte stream into lines. Holds at most one unfinished line of `maxBytes`; the rest of a longer one is thrown away unread. */
export class Lines {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #skipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, and one "oversized" as soon as a line is known to be too long. */
  *push(chunk: Buffer): Generator<Line, void, undefined> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      const line = this.#add(chunk.subarray(from, end));
      from = end + 1;
      if (line !== undefined) yield line;
      else if (!this.#skipping) yield this.#take();
      this.#skipping = false;
    }
    const line = this.#add(chunk.subarray(from));
    if (line !== undefined) yield line;
  }

  /** What stands after the last line end when the stream is over; undefined when nothing does. */
  rest(): Buffer | undefined {
    return this.#length === 0 ? undefined : this.#take();
  }

  #add(piece: Buffer): "oversized" | undefined {
    if (this.#skipping || piece.length === 0) return undefined;
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) {
      this.#take();
      this.#skipping = true;
      return "oversized";
    }
    this.#pieces.push(piece);
    return undefined;
  }

  #take(): Buffer {
    const [only] = this.#pieces;
    const line = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
}
