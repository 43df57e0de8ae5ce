import { begin, step } from "../gc/garbage.ts";
import type { Commands } from "../types.ts";
import type { Handler } from "../work.ts";
import { write as writeAnnotation } from "./annotations.ts";
import { commit } from "./commit.ts";
import { ended } from "./ended.ts";
import { imported } from "./imported.ts";
import { detail, objects, refusal, request } from "./keep.ts";
import { end, grant } from "./leases.ts";
import { linger } from "./linger.ts";
import { looked } from "./looked.ts";
import { collect as collectMemory, forget as forgetMemory, save as saveMemory } from "./memory.ts";
import { applied, durable, unsynced } from "./saves.ts";
import { spans } from "./spans.ts";
import { create as createToken, revoke, used } from "./tokens.ts";
import { undoClear } from "./undo-clear.ts";
import { upkeep } from "./upkeep.ts";
import { create as createWorkspace, remove, status, takeover, trust } from "./workspaces.ts";

/** Commands that are one transaction; backup is not. */
export type Transaction = Exclude<keyof Commands, "backup">;

/** Every transaction by name. */
export const HANDLERS: { readonly [K in Transaction]: Handler<K> } = {
  commit,
  applied,
  durable,
  unsynced,
  linger,
  ended,
  refusal,
  objects,
  looked,
  "workspace.imported": imported,
  takeover,
  "workspace.create": createWorkspace,
  "workspace.status": status,
  "workspace.trust": trust,
  "workspace.remove": remove,
  "lease.grant": grant,
  "lease.end": end,
  "token.create": createToken,
  "token.revoke": revoke,
  "token.used": used,
  "annotation.write": writeAnnotation,
  "memory.save": saveMemory,
  "memory.forget": forgetMemory,
  "memory.collect": collectMemory,
  "undo.clear": undoClear,
  spans,
  detail,
  request,
  "gc.begin": begin,
  "gc.step": step,
  upkeep,
};
