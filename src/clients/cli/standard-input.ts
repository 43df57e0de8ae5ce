import { readSync } from "node:fs";
import { isatty } from "node:tty";

const PIECE_BYTES = 64 * 1024;

/**
 * Standard input of this process, read where it stands: nothing else happens meanwhile, and opening it as a stream costs a short command ten
 * milliseconds. One that does not block (another process made it so) is read as a stream after all.
 */
export const standardInput = {
  /** Whether it is a terminal. */
  get isTTY(): boolean {
    return isatty(0);
  },
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      let count: number;
      try {
        count = readSync(0, piece);
      } catch (thrown) {
        if (!isAgain(thrown)) throw thrown;
        for await (const chunk of process.stdin) yield Buffer.from(chunk);
        return;
      }
      if (count === 0) return;
      yield piece.subarray(0, count);
    }
  },
};

function isAgain(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN";
}
