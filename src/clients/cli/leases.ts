import type { JsonObject } from "../sdk/index.ts";
import type { Context, Flags } from "./command.ts";
import { flag, given } from "./command.ts";
import { duration, object, text, texts } from "./output.ts";
import { count } from "./saving.ts";
import { showLine } from "./terminal.ts";

/** Flags that carry a fence. */
export const FENCE_FLAGS = { "lease-incarnation": { type: "string" }, "lease-epoch": { type: "string" } } satisfies Flags;

/** Their meaning, for help. */
export const FENCE_HELP: readonly (readonly [flag: string, meaning: string])[] = [
  ["--lease-incarnation, --lease-epoch", "the lease's fence, as gin lease acquire printed it"],
];

/** A lease id from the command line and its fence from flags. */
export function leaseFields(context: Context): JsonObject {
  return {
    lease_id: context.positionals[0] ?? "",
    ...given("lease_incarnation", flag(context, "lease-incarnation")),
    ...given("lease_epoch", count(context, "lease-epoch")),
  };
}

/** Shows the lease of an answer, with the flags that carry its fence. */
export function showLease(context: Context, answer: JsonObject, verb: string): void {
  const { out } = context;
  if (context.json) {
    out.json(answer);
    return;
  }
  const lease = object(answer, "lease");
  const paths = texts(lease, "paths").map(showLine).join(" ") || "the whole workspace";
  out.line(`${out.style("green", verb)}  ${text(lease, "lease_id")}  ${paths}`);
  out.facts([
    ["holder", text(lease, "holder")],
    ["intent", text(lease, "intent")],
    ["remaining", duration(text(lease, "remaining_ms"))],
    [
      "fence",
      text(lease, "lease_incarnation") === ""
        ? ""
        : `--lease-incarnation ${text(lease, "lease_incarnation")} --lease-epoch ${text(lease, "lease_epoch")}`,
    ],
  ]);
}
