import type { MessageInitShape } from "@bufbuild/protobuf";
import { WatchKind, type WatchRequest, type WatchResponseSchema } from "../../../gen/gin/v1/watch_pb.ts";
import type { Json } from "../../base/index.ts";
import type { CursorScope } from "../cursors.ts";
import { type Ground, stateOf } from "../invocation.ts";
import { invalid } from "../limits.ts";
import { type StreamCall, Wake } from "../streams.ts";
import { memorySource } from "./watch-memory.ts";
import type { WatchShared } from "./watch-shared.ts";
import { annotationSource, checkpointSource, leaseSource, type Source, type Step, type WatchEvent } from "./watch-sources.ts";

/** A message of the stream. */
type Message = MessageInitShape<typeof WatchResponseSchema>;

/** Places of the kinds by their names, as a cursor carries them. */
type Places = { readonly [kind: string]: Json };

/** What a watcher follows, and where it stands. */
interface Followed {
  readonly source: Source;
  place: Json | undefined;
}

/**
 * Watch: what happens in a workspace, until the caller ends it. Nothing is queued for a watcher. It holds a place in each source, and
 * what it did not take yet stays in the store or among the kept changes: a slow reader costs nothing and at worst is told of a gap.
 * States: catching up → ready → following; a gap may be told in either.
 */
export async function* watch(
  ground: Ground,
  shared: WatchShared,
  request: WatchRequest,
  call: StreamCall,
): AsyncGenerator<Message> {
  const kinds = kindsOf(request.kinds);
  const scope: CursorScope = {
    operation: "Watch",
    principal: call.caller.principal,
    query: [call.workspace, ...kinds.map((kind) => WatchKind[kind])],
  };
  const since = ground.cursors.open(scope, request.since) as Places | undefined;
  const followed = kinds.map((kind): Followed => {
    const source = SOURCES[kind](ground, call, shared);
    return { source, place: since === undefined ? source.end() : since[WatchKind[kind]] };
  });
  const message = (event: WatchEvent): Message => {
    const places = Object.fromEntries(followed.map(({ source, place }) => [WatchKind[source.kind], place ?? null]));
    return { state: stateOf(call.here().workspace.state()), cursor: ground.cursors.seal(scope, places), event };
  };
  const wake = new Wake(ground.clock, call.signal);
  const ears = new Ears(ground, call, wake);
  let ready = false;
  try {
    for (;;) {
      // Before anything is looked at: what happens from here on wakes it again.
      ears.listen();
      const looked = await Promise.all(followed.map(async (one) => ({ one, steps: await one.source.after(one.place) })));
      const gone = looked.filter(({ steps }) => steps === undefined).map(({ one }) => one);
      if (gone.length > 0) yield* skip(gone, message);
      for (const { one, steps } of looked) yield* take(one, steps ?? [], message);
      if (looked.some(({ steps }) => steps === undefined || steps.length > 0)) {
        await pause(ground);
      } else if (!ready) {
        ready = true;
        yield message({ case: "ready", value: {} });
      } else {
        await wake.wait();
      }
    }
  } finally {
    ears.close();
  }
}

/** Kinds that are followed, in the order in which they are told after a gap. */
const SOURCES = {
  [WatchKind.CHECKPOINT]: checkpointSource,
  [WatchKind.LEASE]: leaseSource,
  [WatchKind.ANNOTATION]: annotationSource,
  [WatchKind.MEMORY]: memorySource,
} as const;

const KINDS = [WatchKind.CHECKPOINT, WatchKind.LEASE, WatchKind.ANNOTATION, WatchKind.MEMORY] as const;

/** Kinds asked for, in order, each once; none is all. */
function kindsOf(asked: readonly WatchKind[]): readonly (keyof typeof SOURCES)[] {
  asked.forEach((kind, index) => {
    if (kind === WatchKind.UNSPECIFIED) throw invalid(`kinds[${index}]`, "must name a kind");
  });
  return KINDS.filter((kind) => asked.length === 0 || asked.includes(kind));
}

/** Goes on by a few steps, telling those that are the caller's to see. */
function* take(one: Followed, steps: readonly Step[], message: (event: WatchEvent) => Message): Generator<Message> {
  for (const { place, event } of steps) {
    one.place = place;
    if (event !== undefined) yield message(event);
  }
}

/**
 * Tells of a gap, then what holds now. Until all of that was told, the cursor keeps the place before the gap: a watcher that breaks
 * off in between is told again.
 */
function* skip(gone: readonly Followed[], message: (event: WatchEvent) => Message): Generator<Message> {
  const instead = gone.map((one) => {
    const end = one.source.end();
    const steps = one.source.instead();
    if (steps.length === 0) one.place = end;
    return { one, steps, end };
  });
  yield message({ case: "trimmed", value: { kinds: gone.map(({ source }) => source.kind) } });
  for (const { one, steps, end } of instead) {
    for (const [index, { event }] of steps.entries()) {
      if (index === steps.length - 1) one.place = end;
      if (event !== undefined) yield message(event);
    }
  }
}

/** Lets others have their turn between two batches of a long catching up. */
function pause(ground: Ground): Promise<void> {
  return new Promise((resolve) => void ground.clock.after(0, resolve));
}

/** What a watcher listens to. A workspace that is opened anew has another actor, which is then listened to in its place. */
class Ears {
  readonly #call: StreamCall;
  readonly #wake: Wake;
  readonly #stop: readonly (() => void)[];
  #actor: ReturnType<StreamCall["here"]>["workspace"] | undefined;
  #stopActor: () => void = () => {};

  constructor(ground: Ground, call: StreamCall, wake: Wake) {
    this.#call = call;
    this.#wake = wake;
    const { rowid } = call.here();
    const hear = (workspace: number): void => {
      if (workspace === rowid) wake.call();
    };
    this.#stop = [
      ground.leases.onChange(hear),
      ground.annotations.onWrite((written) => hear(written.workspace)),
      ground.memory.onChange(() => wake.call()),
    ];
  }

  listen(): void {
    const { workspace } = this.#call.here();
    if (workspace === this.#actor) return;
    this.#stopActor();
    this.#actor = workspace;
    this.#stopActor = workspace.onChange(this.#wake.call);
  }

  close(): void {
    for (const stop of this.#stop) stop();
    this.#stopActor();
  }
}
