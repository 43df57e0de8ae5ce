import { createRequire } from "node:module";

/** A call of the C library. Arguments of a variadic one come in pairs: the C type's name, then the value. */
export type NativeCall = (...args: (number | string | Uint8Array)[]) => number;

/** The part of koffi that is used. */
export interface Koffi {
  load(path: string | null): { func(prototype: string): NativeCall };
  errno(): number;
  os: { errno: Readonly<Record<string, number>> };
}

/** A call of the C library and the name of the errno its last failure left. */
export interface Native {
  readonly call: NativeCall;
  errno(): string;
}

/** Loads one call; undefined where koffi (optional) is not installed, this is no Linux, or the C library lacks the call. */
export function loadNative(prototype: string): Native | undefined {
  if (process.platform !== "linux") return undefined;
  let koffi: Koffi;
  let call: NativeCall;
  try {
    koffi = createRequire(import.meta.url)("koffi") as Koffi;
    call = koffi.load(null).func(prototype);
  } catch {
    // Callers have another way, and say which one is in force.
    return undefined;
  }
  const names = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
  return { call, errno: () => names.get(koffi.errno()) ?? "EIO" };
}
