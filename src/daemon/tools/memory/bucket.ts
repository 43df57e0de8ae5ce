import { GinError } from "../../base/index.ts";
import { MEMORY_SCOPE_ID_CHARACTERS } from "../../memory/index.ts";
import type { MemoryBucket } from "../../store/index.ts";
import { textArg } from "../args.ts";
import type { JsonMap, ReadContext } from "../types.ts";
import { refusedArg } from "./args.ts";

/**
 * The bucket a call speaks of; the workspace's own project when it names none. Throws INVALID_REQUEST, and SCOPE_FORBIDDEN for a token
 * that is bound to workspaces and asks for more than the memory of its project: any other bucket is shared by all of the host.
 */
export function bucketOf(args: JsonMap, context: ReadContext): MemoryBucket {
  const own = context.memory.projectOf(context.workspace.rowid);
  const bucket = namedBucket(args, context, own);
  const others = bucket.scope !== own.scope || bucket.scopeId !== own.scopeId;
  if (others && isBound(context)) {
    throw new GinError(
      "SCOPE_FORBIDDEN",
      "this token is for some workspaces only: it reaches the memory of their project",
      undefined,
      {
        facts: { scope: "memory" },
      },
    );
  }
  return bucket;
}

/** What gc looks at: one bucket, or undefined for all. */
export function collectedBucket(args: JsonMap, context: ReadContext): MemoryBucket | undefined {
  const named = textArg(args, "scope") !== "" || textArg(args, "scope_id") !== "";
  return named || isBound(context) ? bucketOf(args, context) : undefined;
}

function isBound({ caller }: ReadContext): boolean {
  return caller.workspaces !== undefined;
}

function namedBucket(args: JsonMap, { memory }: ReadContext, own: MemoryBucket): MemoryBucket {
  const scopeId = textArg(args, "scope_id");
  if (scopeId.length > MEMORY_SCOPE_ID_CHARACTERS || /\p{Cc}/u.test(scopeId)) {
    throw refusedArg(
      "scope_id",
      `must be at most ${MEMORY_SCOPE_ID_CHARACTERS} characters, none of them a control character`,
      MEMORY_SCOPE_ID_CHARACTERS,
    );
  }
  switch (textArg(args, "scope")) {
    case "global":
      if (scopeId !== "") throw refusedArg("scope_id", "goes without scope global");
      return { scope: "global", scopeId: "" };
    case "task":
    case "agent":
      if (scopeId === "") throw refusedArg("scope_id", "is required for scope task and agent");
      return { scope: args.scope === "task" ? "task" : "agent", scopeId };
    default:
      return scopeId === "" ? own : memory.projectNamed(scopeId);
  }
}
