const FIRST_BYTES = 1024;
/** Longest text whose length takes one byte, whatever its characters: three bytes a UTF-16 unit at most. */
const SHORT_TEXT = 42;

/** Bytes of a message being written, in one piece that grows. */
export class Growing {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  /** What was written. */
  taken(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#at);
  }

  /** A varint of a safe integer that is not negative. */
  number(value: number): void {
    this.#reserve(8);
    this.#at = put(this.#buffer, this.#at, value);
  }

  /** A tag and a number; true, as `text` and `bytes`. */
  pair(tag: number, value: number): true {
    this.number(tag);
    this.number(value);
    return true;
  }

  text(tag: number, text: string): true {
    this.number(tag);
    if (text.length <= SHORT_TEXT) {
      this.#reserve(1 + 3 * SHORT_TEXT);
      const length = this.#buffer.write(text, this.#at + 1);
      this.#buffer[this.#at] = length;
      this.#at += 1 + length;
      return true;
    }
    const length = Buffer.byteLength(text);
    this.number(length);
    this.#reserve(length);
    this.#at += this.#buffer.write(text, this.#at);
    return true;
  }

  bytes(tag: number, bytes: Uint8Array): true {
    this.number(tag);
    this.number(bytes.byteLength);
    this.#reserve(bytes.byteLength);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.byteLength;
    return true;
  }

  /** Begins a piece whose length comes before it; gives what `close` needs. */
  open(): number {
    this.#reserve(1);
    return this.#at++;
  }

  close(from: number): void {
    const length = this.#at - from - 1;
    let more = 0;
    for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) more++;
    if (more > 0) {
      this.#reserve(more);
      this.#buffer.copyWithin(from + 1 + more, from + 1, this.#at);
      this.#at += more;
    }
    put(this.#buffer, from, length);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.byteLength) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#at + bytes, this.#buffer.byteLength * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

function put(buffer: Buffer, at: number, value: number): number {
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) + 128;
  buffer[at++] = rest;
  return at;
}
