import { GinError } from "../../base/index.ts";

/** How the names of gin's own temps begin. */
export const TEMP_PREFIX = ".gin-tmp-";

/** Names that can be nothing protected: plain ASCII without a leading dot, a tilde, a colon or a backslash. */
const HARMLESS = /^[\x20-\x2d\x2f-\x39\x3b-\x5b\x5d-\x7d][\x20-\x39\x3b-\x5b\x5d-\x7d]*$/;

/** Characters that file systems and eyes pass over. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

/** `.env.` names that hold no secrets. */
const ENV_SAMPLES = new Set([".env.example", ".env.sample", ".env.template"]);

/** Short names (8.3) that FAT and NTFS give the protected ones. */
const SHORT_NAME = /^(?:git|ssh|aws|gnupg|env|gin-tm)~[0-9]+(?:\..*)?$/;

/**
 * A name as the most forgiving file system would compare it: compatibility form, case folded (ß as ss), nothing invisible,
 * no stream after a colon, no trailing dots or blanks.
 */
export function foldName(name: string): string {
  const bare = name.replace(INVISIBLE, "").normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC").replace(INVISIBLE, "");
  const colon = bare.indexOf(":");
  return (colon < 0 ? bare : bare.slice(0, colon)).replace(/[.\s]+$/u, "");
}

/** Whether one folded name is protected by default. */
function isProtected(folded: string): boolean {
  switch (folded) {
    case ".git":
    case ".ssh":
    case ".aws":
    case ".gnupg":
    case ".env":
      return true;
  }
  if (folded.startsWith(".env.")) return !ENV_SAMPLES.has(folded);
  return folded.startsWith(TEMP_PREFIX) || SHORT_NAME.test(folded);
}

/** Folded names of a path; a backslash separates too, as it does for tools of other systems. */
function foldedNames(path: string): string[] {
  return path.split(/[/\\]/).map(foldName);
}

/**
 * Whether any component of a path is protected by default: .git, .ssh, .aws, .gnupg, .env, .env.* (but .example, .sample and
 * .template), gin's temps, and every spelling some file system takes for one of these, whether or not it is there.
 */
export function isSensitive(path: string): boolean {
  for (const name of path.split("/")) {
    if (name !== "" && !HARMLESS.test(name) && name.split("\\").some((piece) => isProtected(foldName(piece)))) return true;
  }
  return false;
}

/** Says whether a workspace-relative path is protected. */
export type Guard = (path: string) => boolean;

/**
 * A guard for the default names and additional ones of the host's configuration. A pattern without `/` is matched against
 * each component; one with `/` from the root on, and protects what lies below. `*` and `?` stay inside a component; a leading
 * double star means any folder. Throws INVALID_REQUEST for an empty pattern or one with `..`.
 */
export function guardOf(patterns: readonly string[] = []): Guard {
  if (patterns.length === 0) return isSensitive;
  const rules = patterns.map(ruleOf);
  return (path) => {
    if (path === "") return false;
    if (isSensitive(path)) return true;
    const names = foldedNames(path);
    return rules.some((rule) => matches(rule, names));
  };
}

interface Rule {
  readonly names: readonly string[];
  /** Only from the root on. */
  readonly anchored: boolean;
}

function ruleOf(pattern: string): Rule {
  const spelled = pattern.replace(/^(?:\*\*\/)+/, "");
  const names = spelled
    .replace(/^\//, "")
    .replace(/\/(?:\*\*)?$/, "")
    .split("/")
    .map(foldName);
  if (pattern.length > 512 || names.some((name) => name === "")) {
    throw new GinError("INVALID_REQUEST", "a protected name is empty, longer than 512 characters, or contains ..", undefined, {
      facts: { field: "sensitive" },
    });
  }
  return { names, anchored: spelled === pattern && spelled.includes("/") };
}

function matches(rule: Rule, names: readonly string[]): boolean {
  const lastStart = rule.anchored ? 0 : names.length - rule.names.length;
  for (let start = 0; start <= lastStart; start++) {
    if (rule.names.every((glob, i) => names[start + i] !== undefined && matchGlob(glob, names[start + i] ?? ""))) return true;
  }
  return false;
}

/** `*` and `?` against one name, in at most length × length steps. */
function matchGlob(glob: string, name: string): boolean {
  let g = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    if (glob[g] === "*") {
      star = g++;
      mark = n;
    } else if (g < glob.length && (glob[g] === "?" || glob[g] === name[n])) {
      g++;
      n++;
    } else if (star >= 0) {
      g = star + 1;
      n = ++mark;
    } else return false;
  }
  while (glob[g] === "*") g++;
  return g === glob.length;
}
