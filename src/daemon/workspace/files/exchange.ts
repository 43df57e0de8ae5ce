import { loadNative } from "./koffi.ts";

/** How a rename call ended: "done", "exists" (no-replace), "absent", "refused" (this file system or kernel cannot), or another errno's name. */
export type SwapResult = "done" | "exists" | "absent" | "refused" | { readonly errno: string };

/** renameat2(2): renames between two directories held open, without the moment in which a name is missing. */
export interface Swap {
  /** Exchanges two existing entries. */
  exchange(fromFd: number, from: string, toFd: number, to: string): SwapResult;
  /** Renames only where nothing is at the new name. */
  noReplace(fromFd: number, from: string, toFd: number, to: string): SwapResult;
}

/** Flags of renameat2(2), from linux/fs.h. */
const RENAME_NOREPLACE = 1;
const RENAME_EXCHANGE = 2;

let loaded: Swap | undefined | "none";

/** Loads the call once a process; undefined where koffi (optional) or the C library's renameat2 is missing. */
export function loadSwap(): Swap | undefined {
  if (loaded === undefined) loaded = process.platform === "linux" ? (load() ?? "none") : "none";
  return loaded === "none" ? undefined : loaded;
}

function load(): Swap | undefined {
  const native = loadNative("int renameat2(int, const char *, int, const char *, unsigned int)");
  if (native === undefined) return undefined;
  const call = (fromFd: number, from: string, toFd: number, to: string, flags: number): SwapResult => {
    if (native.call(fromFd, from, toFd, to, flags) === 0) return "done";
    const errno = native.errno();
    switch (errno) {
      case "EEXIST":
        return "exists";
      case "ENOENT":
        return "absent";
      case "EINVAL":
      case "ENOSYS":
      case "ENOTSUP":
      case "EOPNOTSUPP":
        return "refused";
      default:
        return { errno };
    }
  };
  return {
    exchange: (fromFd, from, toFd, to) => call(fromFd, from, toFd, to, RENAME_EXCHANGE),
    noReplace: (fromFd, from, toFd, to) => call(fromFd, from, toFd, to, RENAME_NOREPLACE),
  };
}
