import { loadNative } from "./koffi.ts";

/** Whether anybody has a file open for writing, or mapped so: "unknown" where the system does not tell. */
export type Writers = "none" | "some" | "unknown";

/** Asks of an open descriptor whether somebody else could still write to its file. */
export type WriterCheck = (fd: number) => Writers;

/** Commands of fcntl(2) and kinds of leases, from linux/fcntl.h. */
const F_SETSIG = 10;
const F_SETLEASE = 1024;
const F_RDLCK = 0;
const F_UNLCK = 2;
/** Ignored by default: the default signal of a broken lease would end the process. */
const SIGURG = 23;

let loaded: WriterCheck | undefined;

/**
 * The kernel's own answer, whoever the writer is and in whatever container: a read lease is refused while a file is open for
 * writing. It is given back at once; whoever opens the file in that moment waits for nothing.
 */
export function loadWriterCheck(): WriterCheck {
  loaded ??= load();
  return loaded;
}

function load(): WriterCheck {
  const native = loadNative("int fcntl(int, int, ...)");
  if (native === undefined) return () => "unknown";
  return (fd) => {
    if (native.call(fd, F_SETSIG, "int", SIGURG) !== 0) return "unknown";
    if (native.call(fd, F_SETLEASE, "int", F_RDLCK) === 0) {
      native.call(fd, F_SETLEASE, "int", F_UNLCK);
      return "none";
    }
    const errno = native.errno();
    // One number with two names. Anything else is a file system without leases, or a file of somebody else's.
    return errno === "EAGAIN" || errno === "EWOULDBLOCK" ? "some" : "unknown";
  };
}
