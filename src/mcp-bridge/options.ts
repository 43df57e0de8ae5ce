import { homedir } from "node:os";
import { parse, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SESSION_FLAGS, SESSION_HELP, type SessionOptions, sessionOptions, UsageError } from "../clients/sdk/index.ts";
import { realPathOf } from "../paths/index.ts";
import { isProfile, PROFILES, type ProfileName } from "./catalog/profiles.ts";

/** What the bridge reads of its surroundings. */
export interface Surroundings {
  /** Arguments after `gin mcp`. */
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
}

/** Flags of `gin mcp`: those of a session, and the set of tools. */
const FLAGS = { ...SESSION_FLAGS, profile: { type: "string" } } as const;

const NAMES = Object.keys(PROFILES).join(", ");

/** True when a person asks how the command is used. */
export function asksForHelp(argv: readonly string[]): boolean {
  return argv.includes("--help") || argv.includes("-h");
}

/** How the command is used, for a person. */
export function usage(): string {
  const help = [...SESSION_HELP, ["--profile NAME", "GIN_MCP_PROFILE", `set of tools: ${NAMES}; default core`] as const];
  const rows = help.map(([flag, variable, meaning]) => `  ${flag.padEnd(18)} ${variable.padEnd(15)} ${meaning}`);
  return [
    "usage: gin mcp [--profile NAME] [session flags]",
    "",
    "Speaks MCP on standard input and output.",
    "",
    ...rows,
    "",
  ].join("\n");
}

/**
 * Session options from flags and variables. Where nothing says which workspace is meant, the project the host works on is:
 * CLAUDE_PROJECT_DIR, else the working directory. Throws UsageError for what cannot be meant.
 */
export function bridgeOptions(at: Surroundings): SessionOptions {
  profileOf(at);
  const options: SessionOptions = { ...sessionOptions(flagsOf(at.argv), at.env), client: "gin-mcp" };
  const named = [options.endpoint, options.root, options.repository, options.workspace].some((value) => value !== undefined);
  return named ? options : { ...options, root: projectOf(at) };
}

/** The set of tools that is asked for. Throws UsageError for a name that is none, and for flags that cannot be read. */
export function profileOf(at: Surroundings): ProfileName {
  const { profile: given } = flagsOf(at.argv);
  const said = typeof given === "string" ? given : (at.env.GIN_MCP_PROFILE ?? "");
  const name = said === "" ? "core" : said;
  if (isProfile(name)) return name;
  throw new UsageError(`gin mcp has no profile "${name.slice(0, 64)}": there are ${NAMES}`);
}

function flagsOf(argv: readonly string[]): { readonly [name: string]: unknown } {
  try {
    return parseArgs({ args: [...argv], options: FLAGS, strict: true, allowPositionals: false }).values;
  } catch (thrown) {
    throw new UsageError(`gin mcp: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** Hosts that work on no project start their servers in / or in the home directory: importing either whole is never what is meant. */
function projectOf({ env, cwd }: Surroundings): string {
  const said = env.CLAUDE_PROJECT_DIR ?? "";
  const project = realPathOf(said === "" ? cwd : resolve(cwd, said));
  if (project === parse(project).root || project === realPathOf(homedir())) {
    throw new UsageError(
      "gin mcp was started outside of a project: give it --root DIR in the host's configuration, or start the host in a project",
    );
  }
  return project;
}
