import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { type Command, flag, given } from "../command.ts";
import { bytes, text } from "../output.ts";

const UNITS: { readonly [unit: string]: number } = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Collects garbage: what nothing names, checkpoints past their time, and the oldest history beyond the quota. */
export const command: Command = {
  usage: "gc [--dry-run] [--target BYTES] [--request-id ID]",
  flags: { "dry-run": { type: "boolean" }, target: { type: "string" }, "request-id": { type: "string" } },
  help: [
    ["--dry-run", "say what would go, remove nothing"],
    ["--target BYTES", "history to come down to, 500m, 2g or bytes; default: the quota"],
  ],
  async run(context) {
    const target = flag(context, "target");
    const message = {
      ...(context.values["dry-run"] === true ? { dry_run: true } : {}),
      ...given("target_bytes", target === undefined ? undefined : byteCount(target)),
      ...given("request_id", flag(context, "request-id")),
    };
    // It takes as long as the store is large: bounded only when the caller says so.
    const options = context.options().timeoutMs === undefined ? { timeoutMs: 0 } : {};
    const answer = await context.session().admin("CollectGarbage", message, options);
    if (context.json) context.out.json(answer);
    else context.out.facts(facts(answer));
  },
};

function facts(answer: JsonObject): [name: string, value: string][] {
  const would = answer.dry_run === true ? "would be " : "";
  const span = (before: string, after: string) => `${bytes(text(answer, before))} → ${would}${bytes(text(answer, after))}`;
  return [
    ["history", `${span("before_history_bytes", "after_history_bytes")} (quota ${bytes(text(answer, "quota_bytes"))})`],
    ["store", span("before_bytes", "after_bytes")],
    ["nothing named", `${text(answer, "unreachable_objects")} contents`],
    ["given up", `${text(answer, "thinned_objects")} contents of old checkpoints`],
    ["left the log", `${text(answer, "removed_checkpoints")} checkpoints`],
  ];
}

/** "500m", "2g", or bytes; as the JSON of a 64-bit number. */
function byteCount(given: string): string {
  const match = given.match(/^(\d{1,15})([kmgt]?)(?:i?b)?$/i);
  const unit = UNITS[(match?.[2] ?? "").toLowerCase()];
  const count = match?.[1] === undefined || unit === undefined ? Number.NaN : Number(match[1]) * unit;
  if (!Number.isSafeInteger(count)) throw new UsageError("--target takes a size like 500m, 2g or a number of bytes");
  return String(count);
}
