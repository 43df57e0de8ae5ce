import { SESSION_FLAGS } from "../sdk/index.ts";
import { showLine } from "./terminal.ts";

/** Session flags that say where and as whom; a bound of time or of starting is of one call. */
const REPEATED = new Set(
  Object.entries(SESSION_FLAGS).flatMap(([name, { type }]) => (type === "string" && name !== "timeout" ? [`--${name}`] : [])),
);

/** The session flags of a command line, each with a blank before it: repeated in a command that follows it, or that asks elsewhere. */
export function sessionFlags(argv: readonly string[]): string {
  let text = "";
  argv.forEach((arg, at) => {
    const [name = "", ...value] = arg.split("=");
    if (!REPEATED.has(name)) return;
    text += value.length > 0 ? ` ${quote(arg)}` : ` ${name} ${quote(argv[at + 1] ?? "")}`;
  });
  return showLine(text);
}

/**
 * The command line that goes on where this one ended: the same, for a cursor is good for its own question alone, with the cursor in the
 * place of the one it had. `name` is the flag that takes it.
 */
export function goingOn(argv: readonly string[], cursor: string, name = "--cursor"): string {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const flags = argv.slice(0, end).filter((arg, at) => arg !== name && !arg.startsWith(`${name}=`) && argv[at - 1] !== name);
  return showLine(["gin", ...flags, name, cursor, ...argv.slice(end)].map(quote).join(" "));
}

/** A word for a POSIX shell. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
