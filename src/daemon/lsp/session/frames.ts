/** Largest message that is taken. */
export const FRAME_BYTES = 64 * 1024 * 1024;
/** Largest header that is taken: real ones have two short lines. */
const HEADER_BYTES = 4 * 1024;
const LF = 0x0a;

/** A stream that cannot be read on: there is no telling where the next message begins. `message` is for people, and holds nothing of the stream. */
export class BrokenStream extends Error {}

/** Takes messages out of a stream of `Content-Length` frames. */
export class Frames {
  #pieces: Buffer[] = [];
  #kept = 0;
  /** Bytes of the body being waited for; undefined while a header is. */
  #length: number | undefined;

  /** The bodies that are whole with this piece, in order. Throws BrokenStream, and is of no use then. */
  *push(piece: Buffer): Iterable<Buffer> {
    this.#pieces.push(piece);
    this.#kept += piece.byteLength;
    for (;;) {
      this.#length ??= this.#header();
      if (this.#length === undefined || this.#kept < this.#length) return;
      const all = this.#whole();
      const body = all.subarray(0, this.#length);
      this.#keep(all.subarray(this.#length));
      this.#length = undefined;
      yield body;
    }
  }

  /** Takes a header away and gives the length it states; undefined while there is no whole one. What cannot become one is found at once. */
  #header(): number | undefined {
    if (this.#kept === 0) return undefined;
    const all = this.#whole();
    let length: number | undefined;
    for (let start = 0; ; ) {
      const end = all.indexOf(LF, start);
      if (end < 0 ? all.byteLength > HEADER_BYTES : end > HEADER_BYTES)
        throw new BrokenStream("it sent something that is no message");
      if (end < 0) return undefined;
      const line = all.toString("latin1", start, end + 1);
      start = end + 1;
      if (line === "\r\n") {
        if (length === undefined) throw new BrokenStream("it sent a message without a Content-Length");
        this.#keep(all.subarray(start));
        return length;
      }
      const field = /^([!-9;-~]+):[ \t]*([^\r\n]*?)[ \t]*\r\n$/.exec(line);
      if (field === null) throw new BrokenStream("it sent something that is no message");
      if (field[1]?.toLowerCase() === "content-length") length = lengthOf(field[2] ?? "");
    }
  }

  #whole(): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && this.#pieces.length === 1) return first;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }

  #keep(rest: Buffer): void {
    this.#pieces = rest.byteLength === 0 ? [] : [rest];
    this.#kept = rest.byteLength;
  }
}

function lengthOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new BrokenStream("it sent a message with a Content-Length that is no number");
  const length = Number(text);
  if (length > FRAME_BYTES) throw new BrokenStream(`it sent a message of ${length} bytes, and ${FRAME_BYTES} are the most`);
  return length;
}
