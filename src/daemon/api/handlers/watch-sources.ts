import type { MessageInitShape } from "@bufbuild/protobuf";
import { LeaseChange, WatchKind, type WatchResponseSchema } from "../../../gen/gin/v1/watch_pb.ts";
import type { Json } from "../../base/index.ts";
import type { Lease, LeaseChangeName } from "../../lease/index.ts";
import { mayTouch } from "../../policy/index.ts";
import type { Checkpoint } from "../../store/index.ts";
import type { Ground } from "../invocation.ts";
import type { StreamCall } from "../streams.ts";
import { toAnnotation } from "./annotations.ts";
import { toCheckpoint } from "./checkpoint.ts";
import { toLease, visibleLease } from "./lease.ts";
import type { WatchShared } from "./watch-shared.ts";

/** Steps that a source gives at a time: between two batches others have their turn. */
const BATCH = 32;

/** Touched paths looked at together when a caller may see only some. */
const PATHS = 1_000;

/** One event in the contract's form. */
export type WatchEvent = NonNullable<MessageInitShape<typeof WatchResponseSchema>["event"]>;

/** One thing that happened. */
export interface Step {
  /** The place after it. */
  readonly place: Json;
  /** Undefined when it is not this caller's to see. */
  readonly event: WatchEvent | undefined;
}

/** What came after a place, oldest first; undefined for a gap. */
export type Steps = readonly Step[] | undefined;

/** One kind of event, followed from place to place. Places stand in cursors: plain JSON, the same after a restart. */
export interface Source {
  readonly kind: WatchKind;
  /** The place after everything so far. */
  end(): Json;
  /** What comes after a place, oldest first, a few at a time; undefined when not all of it is kept, or the place is none. */
  after(place: Json | undefined): Steps | Promise<Steps>;
  /** What stands in for a gap: what holds now. Its last step's place is that of `end`. */
  instead(): readonly Step[];
}

/** Checkpoints by generation, from the store: they outlive the daemon. A place is [incarnation, generation]. */
export function checkpointSource(ground: Ground, call: StreamCall, shared: WatchShared): Source {
  const state = () => call.here().workspace.state();
  const seesAll = call.caller.paths === undefined;
  const told = (row: Checkpoint): WatchEvent | undefined => {
    if (!maySee(ground, call, row)) return undefined;
    const value = toCheckpoint(ground, call.caller, row);
    if (seesAll) shared.keep(call.workspace, row.generation, value);
    return { case: "checkpoint", value };
  };
  return {
    kind: WatchKind.CHECKPOINT,
    end: () => [state().incarnation, state().generation],
    after(place) {
      const { incarnation, generation: head } = state();
      const [life, from] = pairOf(place);
      // Under another incarnation the same generation may be another checkpoint.
      if (life !== incarnation || from === undefined || from > head) return undefined;
      if (from === head) return [];
      const next = seesAll ? shared.checkpoint(call.workspace, from + 1) : undefined;
      if (next !== undefined) return [{ place: [incarnation, from + 1], event: { case: "checkpoint", value: next } }];
      const steps: Step[] = [];
      let at = from;
      for (const row of ground.reader.checkpointsAfter(call.here().rowid, from, Math.min(BATCH, head - from))) {
        if (row.generation !== at + 1) break;
        at = row.generation;
        steps.push({ place: [incarnation, at], event: told(row) });
      }
      return steps.length === 0 ? undefined : steps;
    },
    instead: () => [],
  };
}

/** Whether a checkpoint touched anything the caller may see. */
function maySee(ground: Ground, { caller }: StreamCall, row: Checkpoint): boolean {
  if (caller.paths === undefined) return true;
  for (let offset = 0; ; offset += PATHS) {
    const { paths, count } = ground.reader.touched(row.id, offset, PATHS);
    if (paths.some(({ path }) => mayTouch(caller, path))) return true;
    if (paths.length === 0 || offset + paths.length >= count) return false;
  }
}

const CHANGES: { readonly [name in LeaseChangeName]: LeaseChange } = {
  granted: LeaseChange.GRANTED,
  released: LeaseChange.RELEASED,
  expired: LeaseChange.EXPIRED,
  broken: LeaseChange.BROKEN,
  superseded: LeaseChange.SUPERSEDED,
};

/** Changes of leases in this daemon's life. A place is [life, sequence number]. */
export function leaseSource(ground: Ground, call: StreamCall): Source {
  const { leases } = ground;
  const { changes } = leases;
  const end = (): Json => [changes.life, changes.newest];
  const told = (change: LeaseChange, lease: Lease): WatchEvent | undefined => {
    const shown = visibleLease(call.caller, lease);
    return shown && { case: "lease", value: { change, lease: toLease(shown, lease.holder === call.caller.principal) } };
  };
  return {
    kind: WatchKind.LEASE,
    end,
    after(place) {
      const [life, seq] = pairOf(place);
      if (life !== changes.life || seq === undefined) return undefined;
      const kept = changes.after(call.here().rowid, seq, BATCH);
      return kept?.map((one) => ({ place: [life, one.seq], event: told(CHANGES[one.change], one.lease) }));
    },
    instead() {
      const held = leases.list(call.here().rowid).map((lease) => told(LeaseChange.HELD, lease));
      const place = end();
      return held.filter((event) => event !== undefined).map((event) => ({ place, event }));
    },
  };
}

/** Annotations by their number, from the store. They are never trimmed. A place is [incarnation, number]. */
export function annotationSource(ground: Ground, call: StreamCall, shared: WatchShared): Source {
  const state = () => call.here().workspace.state();
  const newest = () => shared.newestAnnotation(call.here().rowid);
  return {
    kind: WatchKind.ANNOTATION,
    end: () => [state().incarnation, newest()],
    async after(place) {
      const { incarnation, generation } = state();
      const [life, seq] = pairOf(place);
      if (life !== incarnation || seq === undefined) return undefined;
      if (seq >= newest()) return [];
      const rows = ground.reader.annotations({ workspace: call.here().rowid, ascending: true, after: seq, limit: BATCH });
      const steps: Step[] = [];
      for (const row of rows) {
        const shown = await ground.annotations.present(row, call.caller, generation, call.signal);
        steps.push({
          place: [incarnation, row.seq],
          event: shown === undefined ? undefined : { case: "annotation", value: toAnnotation(shown) },
        });
      }
      return steps;
    },
    instead: () => [],
  };
}

/** The two halves of a place; undefined ones for what is none. */
export function pairOf(place: Json | undefined): [life: string | undefined, count: number | undefined] {
  if (!Array.isArray(place)) return [undefined, undefined];
  const [life, count]: readonly Json[] = place;
  return [typeof life === "string" ? life : undefined, typeof count === "number" ? count : undefined];
}
