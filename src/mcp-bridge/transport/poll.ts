import { createRequire } from "node:module";

/** poll(2) with no time to wait: what the kernel says of one descriptor. */
type Poll = (fds: Uint8Array, count: number, timeoutMs: number) => number;

/** The part of koffi that is used. */
interface Koffi {
  load(library: string | null): { func(prototype: string): Poll };
}

const POLLERR = 0x08;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;

/** undefined: not looked for yet; null: not to be had. */
let poll: Poll | null | undefined;

/**
 * Whether the reader of a pipe has left. "unknown" where koffi, an optional package, is missing or refuses: the next write finds out then.
 * Loaded at the first use, which comes only when a call has run for a while.
 */
export function pollPipe(fd: number): "open" | "closed" | "unknown" {
  if (poll === undefined) poll = loadPoll();
  if (poll === null) return "unknown";
  const entry = Buffer.alloc(8);
  entry.writeInt32LE(fd, 0);
  if (poll(entry, 1, 0) < 1) return "open";
  return (entry.readInt16LE(6) & (POLLERR | POLLHUP | POLLNVAL)) === 0 ? "open" : "closed";
}

function loadPoll(): Poll | null {
  try {
    const koffi = createRequire(import.meta.url)("koffi") as Koffi;
    return koffi.load(null).func("int poll(_Inout_ uint8_t *fds, unsigned long nfds, int timeout)");
  } catch {
    // Optional by design: without it only the next write shows that the reader left.
    return null;
  }
}
