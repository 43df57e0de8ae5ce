import { SESSION_FLAGS } from "../sdk/index.ts";
import type { Command, Flags } from "./command.ts";
import { COMMANDS } from "./table.ts";

/** One command as a shell completes it. */
export interface Completed {
  /** "lease acquire". */
  readonly words: string;
  readonly summary: string;
  /** "--ttl", "-m"; in the command's own order, then those of every command. */
  readonly flags: readonly { readonly name: string; readonly takesValue: boolean }[];
}

/** Shells that `gin completion` knows. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of them. */
export type Shell = (typeof SHELLS)[number];

/** Every command of the table with its flags. Loads all of them. */
export async function completed(): Promise<Completed[]> {
  return await Promise.all(
    Object.entries(COMMANDS).map(async ([words, { summary, load }]) => ({
      words,
      summary,
      flags: flagsOf((await load()).command),
    })),
  );
}

function flagsOf(command: Command): Completed["flags"] {
  if (command.raw === true) return [];
  const shared: Flags = command.bare === true ? {} : { ...SESSION_FLAGS, json: { type: "boolean" as const } };
  const all: Flags = { ...command.flags, ...shared, help: { type: "boolean" as const, short: "h" } };
  return Object.entries(all).flatMap(([name, how]) => {
    const takesValue = how.type === "string";
    const short = "short" in how && how.short !== undefined ? [{ name: `-${how.short}`, takesValue }] : [];
    return [{ name: `--${name}`, takesValue }, ...short];
  });
}

/** The script that makes a shell complete gin's commands and flags. */
export async function completionScript(shell: Shell): Promise<string> {
  const commands = await completed();
  return shell === "bash" ? bash(commands) : shell === "zsh" ? zsh(commands) : fish(commands);
}

/** Names in single quotes for a shell; summaries hold no quotes, and a test sees to it that they never end one. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** First words, and second words by their first. */
function wordsOf(commands: readonly Completed[]): { readonly first: string[]; readonly second: Map<string, string[]> } {
  const second = new Map<string, string[]>();
  const first = new Set<string>();
  for (const { words } of commands) {
    const [one = "", two] = words.split(" ");
    first.add(one);
    if (two !== undefined) second.set(one, [...(second.get(one) ?? []), two]);
  }
  return { first: [...first], second };
}

function bash(commands: readonly Completed[]): string {
  const { first, second } = wordsOf(commands);
  const groups = [...second].map(([word, words]) => `    ${word}) words=${quote(words.join(" "))} ;;`);
  const flags = commands.map(
    ({ words, flags: all }) => `    ${quote(words)}) flags=${quote(all.map((one) => one.name).join(" "))} ;;`,
  );
  const values = [...new Set(commands.flatMap((one) => one.flags.filter((flag) => flag.takesValue).map((flag) => flag.name)))];
  return `# Completion of gin for bash: eval "$(gin completion bash)"
_gin() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous='' one='' two='' words='' flags='' at skip=0
  if ((COMP_CWORD > 0)); then previous=\${COMP_WORDS[COMP_CWORD - 1]}; fi
  COMPREPLY=()
  case $previous in
    ${values.join("|")}) compopt -o default 2> /dev/null; return ;;
  esac
  for ((at = 1; at < COMP_CWORD; at++)); do
    if ((skip)); then skip=0; continue; fi
    case \${COMP_WORDS[at]} in
      ${values.join("|")}) skip=1 ;;
      -*) ;;
      *) if [[ -z $one ]]; then one=\${COMP_WORDS[at]}; elif [[ -z $two ]]; then two=\${COMP_WORDS[at]}; fi ;;
    esac
  done
  if [[ -z $one && $current != -* ]]; then
    COMPREPLY=($(compgen -W ${quote(first.join(" "))} -- "$current"))
    return
  fi
  case $one in
${groups.join("\n")}
  esac
  if [[ -n $words && -z $two && $current != -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  if [[ $one == help && -z $two && $current != -* ]]; then
    COMPREPLY=($(compgen -W ${quote(first.join(" "))} -- "$current"))
    return
  fi
  if [[ $one == completion && $current != -* ]]; then
    COMPREPLY=($(compgen -W ${quote(SHELLS.join(" "))} -- "$current"))
    return
  fi
  if [[ $current == -* ]]; then
    [[ -n $words ]] && one="$one $two"
    case $one in
${flags.join("\n")}
    esac
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
    return
  fi
  compopt -o default 2> /dev/null
}
complete -F _gin gin
`;
}

function zsh(commands: readonly Completed[]): string {
  const { first, second } = wordsOf(commands);
  const about = (words: string): string => commands.find((one) => one.words === words)?.summary ?? `${words} …`;
  const described = (list: readonly string[], prefix: string): string =>
    list.map((word) => quote(`${word}:${about(`${prefix}${word}`).replaceAll(":", "\\:")}`)).join(" ");
  const groups = [...second].map(
    ([word, words]) =>
      `    ${word}) (( CURRENT == 3 )) && { local -a subs=(${described(words, `${word} `)}); _describe command subs; return } ;;`,
  );
  const flags = commands.map(
    ({ words, flags: all }) => `    ${quote(words)}) flags=(${all.map((one) => quote(one.name)).join(" ")}) ;;`,
  );
  return `#compdef gin
# Completion of gin for zsh: eval "$(gin completion zsh)" after compinit.
_gin() {
  local -a commands flags
  commands=(${described(first, "")})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local one=$words[2]
  case $one in
${groups.join("\n")}
    completion) (( CURRENT == 3 )) && { compadd ${SHELLS.join(" ")}; return } ;;
    help) (( CURRENT == 3 )) && { _describe command commands; return } ;;
  esac
  case $one in ${[...second.keys()].join("|")}) one="$one $words[3]" ;; esac
  case $one in
${flags.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then compadd -- $flags; else _files; fi
}
compdef _gin gin
`;
}

function fish(commands: readonly Completed[]): string {
  const { first, second } = wordsOf(commands);
  const about = (words: string): string => commands.find((one) => one.words === words)?.summary ?? "";
  const lines = first.map((word) => `complete -c gin -f -n __fish_use_subcommand -a ${word} -d ${quote(about(word))}`);
  for (const [word, words] of second) {
    for (const two of words) {
      lines.push(
        `complete -c gin -f -n '__fish_seen_subcommand_from ${word}; and not __fish_seen_subcommand_from ${words.join(" ")}' -a ${two} -d ${quote(about(`${word} ${two}`))}`,
      );
    }
  }
  for (const { words, flags } of commands) {
    const seen = words
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const { name, takesValue } of flags) {
      const how = name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
      lines.push(`complete -c gin -n ${quote(seen)} ${how}${takesValue ? " -r" : ""}`);
    }
  }
  lines.push(`complete -c gin -f -n '__fish_seen_subcommand_from completion' -a '${SHELLS.join(" ")}'`);
  return `# Completion of gin for fish: gin completion fish | source\n${lines.join("\n")}\n`;
}
