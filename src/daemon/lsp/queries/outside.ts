import constants from "node:constants";
import { fileURLToPath } from "node:url";
import { errnoOf, type Fs, GinError, type Programs } from "../../base/index.ts";
import { TEXT_BYTES } from "../limits.ts";
import { createText } from "../mirror/text.ts";
import type { Text } from "../mirror/types.ts";
import { languageOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";

/** Characters of texts kept: the same few libraries are named again and again. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;

/** Reads files outside of workspaces that servers name: dependencies and standard libraries. */
export interface Outside {
  /**
   * The text of an absolute path. Undefined for what may not be read: nothing there, no plain file, not text, a protected name on the way, or not of
   * the languages of the server that names it, also not by a link. So nobody reads by a program's imports what is no program. Nor what is a workspace's, this one's
   * (`root`) or another's, whatever name leads there: who may read that is said by its own rights. Packages installed in another one are everybody's.
   */
  text(file: string, spec: ServerSpec, root: string): Text | undefined;
  /** The path below a root of an absolute path that names it by a link, or by any other name of it; undefined for what lies elsewhere, or is not there. */
  inside(file: string, root: string): string | undefined;
}

/** What reading needs. */
export interface OutsideParts {
  readonly fs: Fs;
  readonly programs: Pick<Programs, "realpath">;
  /** Whether a path holds a protected name. */
  readonly isSensitive: (path: string) => boolean;
  /** Absolute roots of every workspace of the host; default none. */
  readonly roots?: () => readonly string[];
}

/** Texts are kept by the file's own facts, so that a file that was replaced is read anew. */
export function createOutside({ fs, programs, isSensitive, roots = () => [] }: OutsideParts): Outside {
  const kept = new Map<string, Text>();
  let characters = 0;
  const keep = (facts: string, text: Text): Text => {
    kept.set(facts, text);
    characters += text.text.length;
    for (const [oldest, { text: old }] of kept) {
      if (characters <= KEPT_CHARACTERS) break;
      kept.delete(oldest);
      characters -= old.length;
    }
    return text;
  };
  const below = (path: string, root: string): string | undefined => {
    for (const one of [root, programs.realpath(root) ?? root]) if (path.startsWith(`${one}/`)) return path.slice(one.length + 1);
    return undefined;
  };
  const isOurs = (path: string, root: string): boolean =>
    below(path, root) !== undefined || (!PACKAGES.test(path) && roots().some((one) => below(path, one) !== undefined));
  return {
    inside(file, root) {
      const real = programs.realpath(file);
      return real === undefined ? undefined : below(real, root);
    },
    text(file, spec, root) {
      const real = programs.realpath(file);
      if (real === undefined || isOurs(real, root)) return undefined;
      if (![file, real].every((path) => isOf(spec, path) && !isSensitive(path))) return undefined;
      return unlessUnreadable(() => {
        // Not to wait for whoever writes into a pipe.
        const fd = fs.openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
        try {
          const stat = fs.fstatSync(fd);
          if ((Number(stat.mode) & constants.S_IFMT) !== constants.S_IFREG || stat.size > BigInt(TEXT_BYTES)) return undefined;
          const facts = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
          return kept.get(facts) ?? keep(facts, createText(whole(fs, fd, Number(stat.size)), ""));
        } finally {
          fs.closeSync(fd);
        }
      });
    },
  };
}

function whole(fs: Fs, fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let length = 0;
  while (length < size) {
    const read = fs.readSync(fd, bytes, length, size - length, length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

/** By its name; headers of C++ have none that tells, but lie in a directory that does. */
function isOf(spec: ServerSpec, path: string): boolean {
  if (languageOf(spec, path) !== undefined) return true;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return spec.languages[".hpp"] !== undefined && /\/include\//.test(path) && /^[a-z_0-9]+(?:\.(?:tcc|inl|ipp|inc))?$/i.test(name);
}

function unlessUnreadable(read: () => Text | undefined): Text | undefined {
  try {
    return read();
  } catch (thrown) {
    if (errnoOf(thrown) !== undefined || (thrown instanceof GinError && thrown.reason === "BINARY_FILE")) return undefined;
    throw thrown;
  }
}

/** Absolute path of a file URI; undefined for anything else. */
export function fileOf(uri: string): string | undefined {
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri) : undefined;
  } catch {
    return undefined;
  }
}

/** Directories below which packages lie: what follows is a name for people. */
const PACKAGES = /^.*\/(?:node_modules|site-packages|dist-packages|pkg\/mod|registry\/src\/[^/]+|typeshed-fallback)\//;

/** A name for people of a file outside: from its package on, or its last folders. It never tells where it lies. */
export function nameOf(file: string): string {
  const named = file.replace(PACKAGES, "");
  return named === file ? file.split("/").filter(Boolean).slice(-3).join("/") : named;
}
