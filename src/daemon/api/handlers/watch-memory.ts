import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { MemoryChange, WatchKind } from "../../../gen/gin/v1/watch_pb.ts";
import { MEMORY_CHANGES_KEPT, type MemoryChangeRow } from "../../store/index.ts";
import type { Ground } from "../invocation.ts";
import type { StreamCall } from "../streams.ts";
import { pairOf, type Source, type WatchEvent } from "./watch-sources.ts";

/** Changes read at a time. */
const BATCH = 32;

const CHANGES: { readonly [change in MemoryChangeRow["change"]]: MemoryChange } = {
  saved: MemoryChange.SAVED,
  forgotten: MemoryChange.FORGOTTEN,
  expired: MemoryChange.EXPIRED,
};

/** Changes of memory, the newest of the host, from the store. A place is [incarnation, number]. */
export function memorySource(ground: Ground, call: StreamCall): Source {
  const { reader } = ground;
  const life = () => call.here().workspace.state().incarnation;
  return {
    kind: WatchKind.MEMORY,
    end: () => [life(), reader.newestMemoryChange()],
    after(place) {
      const [of, seq] = pairOf(place);
      const newest = reader.newestMemoryChange();
      if (of !== life() || seq === undefined || seq > newest || seq < newest - MEMORY_CHANGES_KEPT) return undefined;
      if (seq === newest) return [];
      const project = reader.workspace(call.here().rowid)?.repository;
      return reader.memoryChanges(seq, BATCH).map((row) => ({
        place: [of, row.seq],
        event: maySee(call, row, project) ? eventOf(row) : undefined,
      }));
    },
    instead: () => [],
  };
}

/** As the tool memory has it: the memory of the workspace's project; all else is shared by the host. */
function maySee({ caller }: StreamCall, { scope, scopeId }: MemoryChangeRow, project: string | undefined): boolean {
  if (!caller.scopes.has("memory")) return false;
  if (scope !== "project") return caller.workspaces === undefined;
  return scopeId === project;
}

function eventOf({ change, scope, scopeId, key, kind, principal, timeMs }: MemoryChangeRow): WatchEvent {
  const value = { change: CHANGES[change], scope, scopeId, key, kind, principal, time: timestampFromMs(timeMs) };
  return { case: "memory", value };
}
