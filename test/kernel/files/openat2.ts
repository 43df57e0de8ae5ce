import { createRequire } from "node:module";

/** Number of openat2(2), the same on every processor. */
const SYS_OPENAT2 = 437;
const AT_FLAGS = { path: 0o10000000n, beneath: 0x08n } as const;

/** What the kernel's own confined resolution says: a descriptor to be closed, or an errno's name. */
export type Resolved = { readonly fd: number } | { readonly errno: string };

function loadKoffi(): typeof import("koffi") | undefined {
  try {
    return createRequire(import.meta.url)("koffi") as typeof import("koffi");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * The oracle: openat2(2) with RESOLVE_BENEATH below `directoryFd`. `noFollow` is O_NOFOLLOW's value here, 0 to follow the last
 * component. Gives undefined where the kernel has no such call, or koffi is not installed.
 */
export function openat2(): ((directoryFd: number, path: string, noFollow: number) => Resolved) | undefined {
  if (process.platform !== "linux") return undefined;
  const koffi = loadKoffi();
  if (koffi === undefined) return undefined;
  const call = koffi.load(null).func("long syscall(long, int, const char *, void *, size_t)");
  const names = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
  const how = Buffer.alloc(24);
  const resolve = (directoryFd: number, path: string, noFollow: number): Resolved => {
    how.writeBigUInt64LE(AT_FLAGS.path | BigInt(noFollow), 0);
    how.writeBigUInt64LE(0n, 8);
    how.writeBigUInt64LE(AT_FLAGS.beneath, 16);
    // EAGAIN: somebody renamed anywhere on the machine while the kernel went through "..".
    for (;;) {
      const fd = Number(call(SYS_OPENAT2, directoryFd, path, how, how.byteLength));
      if (fd >= 0) return { fd };
      const errno = koffi.errno();
      if (errno !== koffi.os.errno.EAGAIN) return { errno: names.get(errno) ?? "EIO" };
    }
  };
  const probe = resolve(-100, ".", 0);
  return "fd" in probe || probe.errno !== "ENOSYS" ? resolve : undefined;
}
