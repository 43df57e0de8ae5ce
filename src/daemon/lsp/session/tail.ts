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
