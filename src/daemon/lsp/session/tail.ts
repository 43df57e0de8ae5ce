/** Bytes of a server's standard error that are kept. */
const TAIL_BYTES = 4 * 1024;

/** The last bytes of what a program says, as text. */
export class Tail {
  #bytes: Buffer = Buffer.alloc(0);

  add(piece: Buffer): void {
    const all = piece.byteLength >= TAIL_BYTES ? piece : Buffer.concat([this.#bytes, piece]);
    // A copy: what is kept must not hold a larger piece.
    this.#bytes = all.byteLength > TAIL_BYTES ? Buffer.from(all.subarray(-TAIL_BYTES)) : all;
  }

  /** From the first whole character on. */
  text(): string {
    let start = 0;
    if (this.#bytes.byteLength === TAIL_BYTES) while (start < 3 && ((this.#bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return this.#bytes.toString("utf8", start);
  }
}

/** Characters of a line that are looked at. */
const LINE_CHARACTERS = 4 * 1024;

/** Counts the lines that a program says on its standard error and that match. */
export class Failures {
  readonly #pattern: RegExp | undefined;
  #line = "";
  #count = 0;

  constructor(pattern: RegExp | undefined) {
    this.#pattern = pattern;
  }

  /** A line counts when it has begun to match, whether its end has come or not. */
  get count(): number {
    return this.#count + (this.#matches(this.#line) ? 1 : 0);
  }

  add(piece: Buffer): void {
    if (this.#pattern === undefined) return;
    const lines = `${this.#line}${piece.toString("latin1")}`.split("\n");
    this.#line = lines.pop()?.slice(0, LINE_CHARACTERS) ?? "";
    this.#count += lines.filter((line) => this.#matches(line)).length;
  }

  #matches(line: string): boolean {
    return this.#pattern?.test(line) === true;
  }
}
