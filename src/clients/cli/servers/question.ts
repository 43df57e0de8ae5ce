import { DEFAULT_TIMEOUT_MS, type JsonObject, UsageError } from "../../sdk/index.ts";
import { type Context, type Flags, flag, flags, given } from "../command.ts";
import { CHECKPOINT_FLAGS, checkpointFields, count } from "../saving.ts";

/** Milliseconds of the caller's own that the daemon leaves for the way back. */
const WAY_BACK_MS = 1_000;

/** Flags of every question. */
export const ASK_FLAGS = {
  server: { type: "string" },
  "if-hash": { type: "string" },
  limit: { type: "string" },
  cursor: { type: "string" },
} satisfies Flags;

/** Their meanings, for help. */
export const ASK_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["--server ID", "this server of the table, as gin lsp status names it"],
  ["--if-hash SHA", "refuse unless the file has this SHA-256"],
  ["--limit N, --cursor CURSOR", "one page"],
];

/** Flags of commands about a place. */
export const PLACE_FLAGS = { symbol: { type: "string" } } satisfies Flags;

/** Their meanings. */
export const PLACE_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["PATH:LINE:CHARACTER", "the place, both from 1; characters are Unicode's"],
  [
    "--symbol NAME",
    "a name or name path (Class/method) instead, or with PATH:LINE the word meant there; without PATH the workspace's",
  ],
];

/** Flags of commands whose edit may be saved. */
export const APPLY_FLAGS = {
  apply: { type: "boolean" },
  ...CHECKPOINT_FLAGS,
  generation: { type: "string" },
} satisfies Flags;

/** Their meanings. */
export const APPLY_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["--apply", "save it, as one checkpoint; without it nothing is changed"],
  ["-m, --message TEXT", "why, for the log"],
  ["--incarnation, --generation, --epoch", "refuse unless the workspace still stands there"],
  ["--lease-incarnation, --lease-epoch", "the fence of a lease you hold"],
  ["--request-id ID", "your own id, the same for every retry; default: one is made"],
];

/** Fields that the flags of every question give. */
export function askFields(context: Context): JsonObject {
  const asked = flag(context, "limit");
  if (asked !== undefined && !/^[1-9]\d{0,3}$/.test(asked)) throw new UsageError(`--limit takes a count, not "${asked}"`);
  return {
    ...given("server", flag(context, "server")),
    ...given("if_hash", flag(context, "if-hash")?.toLowerCase()),
    ...given("page_size", asked === undefined ? undefined : Number(asked)),
    ...given("cursor", flag(context, "cursor")),
    timeout_ms: Math.min(300_000, Math.max(1, (context.options().timeoutMs ?? DEFAULT_TIMEOUT_MS) - WAY_BACK_MS)),
  };
}

/** Fields that the flags of an edit give. */
export function applyFields(context: Context): JsonObject {
  if (context.values.apply !== true) {
    const idle = Object.keys(APPLY_FLAGS).find((name) => name !== "apply" && context.values[name] !== undefined);
    if (idle !== undefined) throw new UsageError(`--${idle} goes with --apply`);
    return {};
  }
  return {
    apply: true,
    ...checkpointFields(context),
    ...given("generation", count(context, "generation")),
  };
}

/** `path`, `line` and `character` of PATH[:LINE[:CHARACTER]]. */
export function placeFields(word: string): JsonObject {
  const match = /^(.*?)(?::([1-9]\d{0,8}))?(?::([1-9]\d{0,8}))?$/s.exec(word);
  const [, path = word, line, character] = match ?? [];
  return {
    path,
    ...given("line", line === undefined ? undefined : Number(line)),
    ...given("character", character === undefined ? undefined : Number(character)),
  };
}

/** The place of a command about one: word and --symbol, or either. */
export function placeOf(context: Context): JsonObject {
  const symbol = flag(context, "symbol");
  const [word] = context.positionals;
  if (word === undefined && symbol === undefined) throw new UsageError("say where: PATH:LINE:CHARACTER, or --symbol NAME");
  return { ...(word === undefined ? {} : placeFields(word)), ...given("symbol", symbol) };
}

/** `end_line` and `end_character` of LINE[:CHARACTER], exclusive. */
export function endFields(asked: string | undefined): JsonObject {
  if (asked === undefined) return {};
  const match = /^([1-9]\d{0,8})(?::([1-9]\d{0,8}))?$/.exec(asked);
  if (match === null) throw new UsageError(`--end takes LINE or LINE:CHARACTER, not "${asked}"`);
  return {
    end_line: Number(match[1]),
    ...given("end_character", match[2] === undefined ? undefined : Number(match[2])),
  };
}

/** Repeated texts of a flag, as a field. */
export function listField(context: Context, name: string, field: string): JsonObject {
  const values = flags(context, name);
  return values.length === 0 ? {} : { [field]: values };
}
