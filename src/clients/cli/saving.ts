import { readFileSync } from "node:fs";
import { isObject, type JsonObject, UsageError } from "../sdk/index.ts";
import { sessionFlags } from "./again.ts";
import { type Context, type Flags, flag, given } from "./command.ts";
import { list, text } from "./output.ts";
import { showLine as safe } from "./terminal.ts";

/** Flags of every command whose request may end in a checkpoint. */
export const CHECKPOINT_FLAGS = {
  message: { type: "string", short: "m" },
  incarnation: { type: "string" },
  epoch: { type: "string" },
  "lease-incarnation": { type: "string" },
  "lease-epoch": { type: "string" },
  "request-id": { type: "string" },
} satisfies Flags;

/** Flags of every command that saves. */
export const SAVE_FLAGS = {
  expect: { type: "string" },
  "on-conflict": { type: "string" },
  "dry-run": { type: "boolean" },
  sync: { type: "boolean" },
  generation: { type: "string" },
  ...CHECKPOINT_FLAGS,
} satisfies Flags;

/** Their meanings, for help. */
export const SAVE_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["--expect SHA|absent", "SHA-256 of the bytes you read, or absent for a new file"],
  ["--on-conflict merge", "merge three-way when the file changed since; default refuse"],
  ["-m, --message TEXT", "why, for the log"],
  ["--dry-run", "judge everything, change nothing"],
  ["--sync", "record first what changed outside gin, on any path"],
  ["--incarnation, --generation, --epoch", "refuse unless the workspace still stands there"],
  ["--lease-incarnation, --lease-epoch", "the fence of a lease you hold"],
  ["--request-id ID", "your own id, the same for every retry; default: one is made"],
];

/** The fields that CHECKPOINT_FLAGS give. Throws UsageError for a number that is none. */
export function checkpointFields(context: Context): JsonObject {
  return {
    ...given("request_id", flag(context, "request-id")),
    ...given("incarnation", flag(context, "incarnation")),
    ...given("epoch", count(context, "epoch")),
    ...given("lease_incarnation", flag(context, "lease-incarnation")),
    ...given("lease_epoch", count(context, "lease-epoch")),
    ...given("message", flag(context, "message")),
  };
}

/** The fields of a Save that flags give. Throws UsageError for a number that is none. */
export function saveFields(context: Context): JsonObject {
  const conflict = flag(context, "on-conflict");
  if (conflict !== undefined && !["merge", "refuse"].includes(conflict)) {
    throw new UsageError(`--on-conflict takes merge or refuse, not "${conflict}"`);
  }
  return {
    ...checkpointFields(context),
    ...given("generation", count(context, "generation")),
    ...given("on_conflict", conflict === undefined ? undefined : `ON_CONFLICT_${conflict.toUpperCase()}`),
    ...(context.values["dry-run"] === true && { dry_run: true }),
    ...(context.values.sync === true && { sync: true }),
  };
}

/** A 64-bit number from a flag, kept as text. */
export function count(context: Context, name: string): string | undefined {
  const value = flag(context, name);
  if (value !== undefined && !/^\d{1,20}$/.test(value)) throw new UsageError(`--${name} takes a number, not "${value}"`);
  return value;
}

/** `expect` of the edit. Without it the save would overwrite blindly, so it must be given unless a generation is. */
export function expectation(context: Context): JsonObject {
  const expect = flag(context, "expect");
  if (expect === undefined) {
    if (flag(context, "generation") !== undefined) return {};
    throw new UsageError("--expect SHA (of the bytes you read; gin read PATH --stat shows it) or --expect absent is needed");
  }
  if (expect !== "absent" && !/^[0-9a-f]{64}$/i.test(expect))
    throw new UsageError("--expect takes 64 hex digits of a SHA-256, or absent");
  return { expect: expect.toLowerCase() };
}

/** The bytes of `--from FILE`, or of standard input for "-". */
export async function bytesFrom(context: Context, from: string): Promise<Buffer> {
  if (from === "-") return await context.stdin();
  try {
    return readFileSync(from);
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
    throw new UsageError(`${from} cannot be read (${code})`);
  }
}

/** `text` when the bytes are valid UTF-8, else `data`; either way the bytes arrive as they are. */
export function contentFields(bytes: Buffer): JsonObject {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    // Not UTF-8: sent as bytes.
    return { data: bytes.toString("base64") };
  }
}

/** A SaveRequest from JSON: the message itself, or a Request that holds it. */
export function saveFromJson(source: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch (thrown) {
    throw new UsageError(`the Save is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  if (!isObject(parsed)) throw new UsageError('a Save is an object, as {"edits":[…]}');
  return isObject(parsed.save) && Object.keys(parsed).length === 1 ? parsed.save : parsed;
}

/** Sends the Save and shows its answer. */
export async function save(context: Context, message: JsonObject): Promise<undefined> {
  const answer = await context.session().run("save", message);
  const { out } = context;
  if (context.json) {
    out.json(answer);
    return;
  }
  const paths = list(answer, "paths");
  const verb = answer.dry_run === true ? "would save" : "saved";
  for (const path of paths) {
    const what =
      path.no_change === true ? "no change" : path.deleted === true ? "deleted" : path.merged === true ? "merged" : verb;
    out.line(`${out.style("green", what)}  ${safe(text(path, "path"))}  ${out.style("dim", text(path, "sha256"))}`.trimEnd());
  }
  for (const path of list(answer, "rescued")) {
    out.line(
      `${out.style("yellow", "kept")}  an outside edit of ${safe(text(path, "path"))} is in history: ${text(path, "checkpoint")}`,
    );
  }
  const notes = [
    answer.replayed === true ? "answered before" : "",
    answer.apply_pending === true ? "safe in the store, not yet on disk" : "",
    text(answer, "detail_id") === "" ? "" : `all paths: gin details ${text(answer, "detail_id")}${sessionFlags(context.argv)}`,
  ].filter((note) => note !== "");
  const head = answer.dry_run === true ? "nothing was changed" : `checkpoint ${text(answer, "checkpoint")}`;
  out.line(out.style("dim", [head, `request ${safe(text(answer, "request_id"))}`, ...notes].join(", ")));
}
