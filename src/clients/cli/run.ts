import { parseArgs } from "node:util";
import { openSession, SESSION_FLAGS, type Session, type SessionOptions, sessionOptions, UsageError } from "../sdk/index.ts";
import type { Command, Context, Flags } from "./command.ts";
import { Output, type Sink } from "./output.ts";
import { COMMANDS } from "./table.ts";

/** What a run of the CLI touches outside itself. */
export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: AsyncIterable<Buffer | string> & { readonly isTTY?: boolean | undefined };
  readonly env: { readonly [name: string]: string | undefined };
}

/** Exit statuses of `gin`; docs/cli.md explains each. */
export const EXIT = { done: 0, refused: 1, usage: 2, transport: 3, unknown: 4 } as const;

/** Runs one command line (without node and the script) and gives its exit status. Never throws. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  // Standard error costs milliseconds to open, and most commands never write to it.
  const err = new Output(() => io.stderr, io.env);
  let context: RunContext | undefined;
  try {
    const { words, rest } = findCommand(argv);
    const row = COMMANDS[words];
    if (row === undefined) throw new UsageError(unknownCommand(words));
    const { command } = await row.load();
    context = parse(command, { argv, rest }, io, err);
    if (context.values.help === true) {
      const { commandHelp } = await import("./help.ts");
      commandHelp(context.out, words, command);
      return EXIT.done;
    }
    return (await command.run(context)) ?? EXIT.done;
  } catch (thrown) {
    const { report } = await import("./report.ts");
    return report(thrown, { out: new Output(() => io.stdout, io.env), err, json: context?.json ?? false, argv });
  } finally {
    context?.close();
  }
}

/** A command line, and what of it is behind the words of its command. */
interface Line {
  readonly argv: readonly string[];
  readonly rest: string[];
}

/** A context that main can close. */
interface RunContext extends Context {
  close(): void;
}

/** Splits the words of the command from everything else; flags may stand before them. */
function findCommand(argv: readonly string[]): { words: string; rest: string[] } {
  const valued = new Set(Object.entries(SESSION_FLAGS).flatMap(([name, flag]) => (flag.type === "string" ? [`--${name}`] : [])));
  let at = 0;
  for (let arg = argv[at]; arg?.startsWith("-"); arg = argv[at]) {
    if (arg === "--help" || arg === "-h") return { words: "help", rest: [] };
    if (arg === "--version" || arg === "-v") return { words: "version", rest: [] };
    at += valued.has(arg) ? 2 : 1;
  }
  const [first, second] = [argv[at], argv[at + 1]];
  if (first === undefined) return { words: "help", rest: [] };
  const two = `${first} ${second ?? ""}`.trimEnd();
  const taken = Object.hasOwn(COMMANDS, two) && two !== first ? 2 : 1;
  const words = taken === 2 ? two : first;
  // "gin lease" and "gin lease --help" are asked for help; "gin lease frob" is wrong.
  if (!Object.hasOwn(COMMANDS, words)) return { words: second === undefined || second.startsWith("-") ? first : two, rest: [] };
  return { words, rest: [...argv.slice(0, at), ...argv.slice(at + taken)] };
}

function unknownCommand(words: string): string {
  const [first = ""] = words.split(" ");
  const group = Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `));
  return group.length > 0 ? `gin ${first} is one of: ${group.join(", ")}` : `there is no command "${words}": gin help lists them`;
}

function parse(command: Command, { argv, rest }: Line, io: Io, err: Output): RunContext {
  if (command.raw === true) return contextOf({ values: {}, positionals: rest, argv }, io, err);
  const shared: Flags = command.bare === true ? {} : { ...SESSION_FLAGS, json: { type: "boolean" } };
  const options: Flags = { ...shared, help: { type: "boolean", short: "h" }, ...command.flags };
  let parsed: Pick<Context, "values" | "positionals">;
  try {
    parsed = parseArgs({ args: rest, options, allowPositionals: true, strict: true });
  } catch (thrown) {
    throw new UsageError(`${thrown instanceof Error ? thrown.message : String(thrown)}\nusage: gin ${command.usage}`);
  }
  const [fewest, most] = command.words ?? [0, 0];
  const count = parsed.positionals.length;
  if (parsed.values.help !== true && (count < fewest || count > most)) throw new UsageError(`usage: gin ${command.usage}`);
  return contextOf({ ...parsed, argv }, io, err);
}

function contextOf(parsed: Pick<Context, "values" | "positionals" | "argv">, io: Io, err: Output): RunContext {
  let session: Session | undefined;
  let settled: SessionOptions | undefined;
  const sessionOf = (): SessionOptions => {
    const onNotice = (text: string): void => err.line(`gin: ${text}`);
    const onImporting = (progress: { files: string; directoriesLeft: string }): void =>
      err.line(`gin: the directory is being imported: ${progress.files} files, ${progress.directoriesLeft} directories left`);
    settled ??= { ...sessionOptions(parsed.values, io.env), client: "gin-cli", oneShot: true, onNotice, onImporting };
    return settled;
  };
  return {
    ...parsed,
    session: (overrides = {}) => (session ??= openSession({ ...sessionOf(), ...overrides })),
    options: sessionOf,
    out: new Output(() => io.stdout, io.env),
    err,
    json: parsed.values.json === true,
    env: io.env,
    stdin: (most) => readAll(io.stdin, most),
    typed: () => io.stdin.isTTY === true,
    close: () => session?.close(),
  };
}

async function readAll(stream: AsyncIterable<Buffer | string>, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    chunks.push(bytes);
    length += bytes.length;
    if (length > most) break;
  }
  return Buffer.concat(chunks);
}
