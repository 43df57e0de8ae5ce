import { createRequire } from "node:module";

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

/** The part of koffi that is used. */
interface Koffi {
  load(path: string | null): { func(prototype: string): (...args: (number | string)[]) => number };
  errno(): number;
  os: { errno: Readonly<Record<string, number>> };
}

let loaded: Swap | undefined | "none";

/** Loads the call once a process; undefined where koffi (optional) or the C library's renameat2 is missing. */
export function loadSwap(): Swap | undefined {
  if (loaded === undefined) loaded = process.platform === "linux" ? (load() ?? "none") : "none";
  return loaded === "none" ? undefined : loaded;
}

function load(): Swap | undefined {
  let koffi: Koffi;
  let rename: (...args: (number | string)[]) => number;
  try {
    koffi = createRequire(import.meta.url)("koffi") as Koffi;
    rename = koffi.load(null).func("int renameat2(int, const char *, int, const char *, unsigned int)");
  } catch {
    // An optional dependency that is not installed, or a C library without the call: the other way of replacing is used and told.
    return undefined;
  }
  const names = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
  const call = (fromFd: number, from: string, toFd: number, to: string, flags: number): SwapResult => {
    if (rename(fromFd, from, toFd, to, flags) === 0) return "done";
    const errno = names.get(koffi.errno()) ?? "EIO";
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
