import { readFileSync } from "node:fs";

declare const __GIN_VERSION__: string | undefined;

/** gin's version, "MAJOR.MINOR.PATCH": put in by the build; read from package.json when run from source. */
export const VERSION: string = typeof __GIN_VERSION__ === "string" ? __GIN_VERSION__ : fromPackage();

/** Major of the wire protocol, as the header `gin-protocol` carries it. */
export const PROTOCOL = 1;

function fromPackage(): string {
  const parsed: { readonly version: string } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return parsed.version;
}

/** Less than 0 when `a` is older than `b`, 0 when equal; anything after the three numbers does not count. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const right = b.split(".").map((part) => Number.parseInt(part, 10) || 0);
  for (let at = 0; at < 3; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
