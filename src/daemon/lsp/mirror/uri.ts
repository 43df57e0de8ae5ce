import { pathToFileURL } from "node:url";
import { GinError } from "../../base/index.ts";

/** Paths of a workspace and the file URIs that stand for them. */
export interface Uris {
  /** URI of a workspace-relative path; "" is the root. */
  uriOf(path: string): string;
  /**
   * Canonical workspace-relative path of a URI, however it is encoded and by whichever of the root's names; undefined for what is no file below the root: other
   * schemes and hosts, malformed ones, a link that leads outside. A protected path is given as it is: reading it is refused elsewhere.
   */
  pathOf(uri: string): string | undefined;
  /** The same as text that is no URI's path: an absolute path below the root by one of its names, not canonical; "" is the root. */
  below(absolute: string): string | undefined;
  /** The root's names, longest first, without a slash at their ends. */
  readonly names: readonly string[];
  /** Absolute path of a URI, with dots resolved; undefined for what is no local file. */
  absoluteOf(uri: string): string | undefined;
}

/** What the names of a root are made from. */
export interface UriParts {
  /** Absolute, without a slash at its end. */
  readonly root: string;
  /** Other absolute names of it. */
  readonly aliases: readonly string[];
  /** LspWorkspace.canonical. */
  readonly canonical: (path: string) => string;
}

/** macOS keeps these below /private and names them by links: a server may say either. */
const PRIVATE = /^\/private(?=\/(?:tmp|var|etc)(?:\/|$))/;

/** scheme, host and path of a file URI; `file:/path` is one as well. Queries and fragments are no part of a file's name. */
const FILE_URI = /^file:(?:\/\/(?:localhost)?)?(\/(?!\/)[^?#]*|\/)$/i;

/** Makes the translation for one root. */
export function createUris({ root, aliases, canonical }: UriParts): Uris {
  const names = new Set<string>();
  for (const name of [root, ...aliases]) {
    const plain = name === "/" ? "" : name.replace(/\/+$/, "");
    names.add(plain);
    if (PRIVATE.test(plain)) names.add(plain.replace(PRIVATE, ""));
    else if (PRIVATE.test(`/private${plain}`)) names.add(`/private${plain}`);
  }
  // The longest first: one name of the root may lie below another.
  const known = [...names].sort((a, b) => b.length - a.length);
  const below = (absolute: string): string | undefined => {
    for (const name of known) {
      if (absolute === name) return "";
      if (absolute.startsWith(`${name}/`)) return absolute.slice(name.length + 1);
    }
    return undefined;
  };
  return {
    uriOf: (path) => fileUri(path === "" ? root : `${root === "/" ? "" : root}/${path}`),
    pathOf(uri) {
      const absolute = absoluteOf(uri);
      const path = absolute === undefined ? undefined : below(absolute);
      return path === undefined || path === "" ? undefined : canonically(path, canonical);
    },
    below,
    names: known,
    absoluteOf,
  };
}

/** URI of an absolute path, as Node writes it: a session names the root so, and some servers compare the letters. */
export function fileUri(absolute: string): string {
  // With a name behind it, as what is blank at the end of a URI would be lost.
  return pathToFileURL(`${absolute}/x`).href.slice(0, -"/x".length);
}

function absoluteOf(uri: string): string | undefined {
  const encoded = FILE_URI.exec(uri)?.[1];
  if (encoded === undefined) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(encoded);
  } catch {
    // Bytes that are no UTF-8, or a lone %: no path of ours is written so.
    return undefined;
  }
  return path.includes("\0") ? undefined : withoutDots(path);
}

/** Dots and doubled slashes resolved by their letters, as servers make them by joining names. */
function withoutDots(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

function canonically(path: string, canonical: (path: string) => string): string | undefined {
  try {
    return canonical(path);
  } catch (thrown) {
    if (!(thrown instanceof GinError)) throw thrown;
    // It is ours and nobody's to read: an answer says where it is, and whoever reads it is refused.
    return thrown.reason === "PATH_SENSITIVE" ? path : undefined;
  }
}
