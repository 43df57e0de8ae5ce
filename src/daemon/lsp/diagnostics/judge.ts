import { type Clock, GinError } from "../../base/index.ts";
import type { Document, Mirror } from "../mirror/types.ts";
import { BARRIER } from "../mirror/wire.ts";
import { isObject, type Raw } from "../queries/raw.ts";
import { givenUp, notReady } from "../session/failures.ts";
import type { Deadline, Run } from "../session/types.ts";
import { pulled, pullProviders } from "./pull.ts";

/**
 * Milliseconds the push that belongs to the content is waited for until the server is told the text anew: where none came yet, where one of before did, and where one came
 * too early to count.
 */
const FIRST_MS = 1_500;
const AGAIN_MS = 400;
const EARLY_MS = 100;
/** The same for one that computes in threads beside: the least, as it starts all over then. */
const LOST_MS = 5_000;

/** Who is asked for a document's diagnostics. */
export interface Asked {
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Of the table. */
  readonly server: string;
}

/** What a server says of a document. */
export interface Judged {
  /** As the server sent them. */
  readonly items: readonly Raw[];
  /** Of other documents, by URI. */
  readonly related: ReadonlyMap<string, readonly Raw[]>;
}

const NONE: ReadonlyMap<string, readonly Raw[]> = new Map();

/**
 * What a server says of exactly this content of an open document: asked for where it can be, else the push that belongs to it, waited for. Rejects with NOT_READY
 * "timed_out" when nothing came by the deadline, never with an empty list.
 */
export async function judge(asked: Asked, document: Document, deadline: Deadline): Promise<Judged> {
  const providers = pullProviders(asked.mirror.run);
  if (providers.length > 0) return pulled(asked, providers, document, deadline);
  return pushedFor(asked, document, deadline);
}

/** Whether it answers for each document at once, so that many can be asked about. */
export function pulls(run: Run): boolean {
  return pullProviders(run).length > 0;
}

async function pushedFor(asked: Asked, document: Document, deadline: Deadline): Promise<Judged> {
  const { mirror, clock } = asked;
  const known = now(mirror, document);
  if (known !== undefined) return { items: known, related: NONE };
  if (mirror.beside) {
    return pushedBeside(asked, document, deadline);
  }
  const early = await heardUntilBarrier(asked, document, deadline);
  const start = clock.monotonicMs();
  // One that has said something of this very content may have no reason to say it again, and what it says too early does not count: it is told the text anew.
  const once = mirror.pushed(document.uri) !== undefined;
  const patience = once ? AGAIN_MS : early ? EARLY_MS : Math.min(FIRST_MS, (deadline.atMs - start) / 2);
  const first = await wait(asked, document, { ...deadline, atMs: Math.min(deadline.atMs, start + patience) });
  if (first !== undefined) return { items: first, related: NONE };
  await mirror.nudge(document.path);
  const items = await wait(asked, document, deadline);
  if (items === undefined) throw late(asked, document);
  return { items, related: NONE };
}

async function pushedBeside(asked: Asked, document: Document, deadline: Deadline): Promise<Judged> {
  const { mirror, clock } = asked;
  const start = clock.monotonicMs();
  await mirror.nudge(document.path);
  const atMs = Math.min(deadline.atMs, start + Math.max(LOST_MS, (deadline.atMs - start) / 2));
  const first = await wait(asked, document, { ...deadline, atMs });
  if (first !== undefined) return { items: first, related: NONE };
  // It may be lost: timers that meet end each other (pylsp). Whoever asks next is served by this one when it comes too late here.
  await mirror.nudge(document.path, true);
  const items = await wait(asked, document, deadline);
  if (items === undefined) throw late(asked, document);
  return { items, related: NONE };
}

/** The push that counts for the document now. */
function now(mirror: Mirror, { uri, text }: Document): readonly Raw[] | undefined {
  const pushed = mirror.pushed(uri);
  return pushed?.current === true && pushed.sha256 === text.sha256 ? pushed.items.filter(isObject) : undefined;
}

/** Undefined when the time is over. */
function wait({ mirror, clock, server }: Asked, document: Document, deadline: Deadline): Promise<readonly Raw[] | undefined> {
  return new Promise((resolve, reject) => {
    const found = now(mirror, document);
    if (found !== undefined) return resolve(found);
    if (movedOn(mirror, document)) return reject(moved(server, document));
    const { signal } = deadline;
    if (signal.aborted) return reject(givenUp(server));
    const end = (): void => {
      off();
      late();
      alive();
      signal.removeEventListener("abort", abort);
    };
    const off = mirror.onPushed((uri) => {
      if (uri !== document.uri) return;
      const items = now(mirror, document);
      if (items !== undefined) {
        end();
        resolve(items);
      } else if (movedOn(mirror, document)) {
        end();
        reject(moved(server, document));
      } else if (mirror.beside) {
        // What was said did not count. A mirror that cannot tell it is over: whoever waits hears of that.
        mirror.nudge(document.path).catch(() => {});
      }
    });
    const late = clock.after(Math.max(0, deadline.atMs - clock.monotonicMs()), () => {
      end();
      resolve(undefined);
    });
    const abort = (): void => {
      end();
      reject(givenUp(server));
    };
    signal.addEventListener("abort", abort, { once: true });
    // One that ends says nothing any more.
    const alive = whenEnded(mirror.run, () => {
      end();
      reject(notReady(server, "crashed"));
    });
  });
}

/** By run: who waits for its end. A promise would keep all who ever did. */
const ENDINGS = new WeakMap<Run, { readonly waiting: Set<() => void>; over: boolean }>();

/** Calls back once the run's process is gone, unless the returned function was called before. */
function whenEnded(run: Run, callback: () => void): () => void {
  const ending = ENDINGS.get(run) ?? { waiting: new Set<() => void>(), over: false };
  if (!ENDINGS.has(run)) {
    ENDINGS.set(run, ending);
    void run.ended.then(() => {
      ending.over = true;
      for (const one of [...ending.waiting]) one();
    });
  }
  ending.waiting.add(callback);
  if (ending.over) queueMicrotask(() => ending.waiting.has(callback) && callback());
  return () => void ending.waiting.delete(callback);
}

/** Whether the server was told another text since: what it says is of that, and nothing more will come of this one. */
function movedOn(mirror: Mirror, { path, text }: Document): boolean {
  return mirror.documents().get(path)?.text.sha256 !== text.sha256;
}

function moved(server: string, { path }: Document): GinError {
  return notReady(server, "changing", `${path} changed while it was looked at`, 100);
}

/** Whether a push came before it is known that the server had taken the text. */
async function heardUntilBarrier({ mirror }: Asked, { uri }: Document, deadline: Deadline): Promise<boolean> {
  let heard = false;
  const off = mirror.onPushed((pushed) => {
    heard ||= pushed === uri;
  });
  try {
    await barrier(mirror, deadline);
    return heard;
  } finally {
    off();
  }
}

/** Has the server answer something, so that what it pushes from now on is known to come after what it was told. */
async function barrier(mirror: Mirror, deadline: Deadline): Promise<void> {
  try {
    await mirror.run.request(BARRIER, {}, deadline);
  } catch (thrown) {
    if (thrown instanceof GinError && (thrown.reason === "LSP_REFUSED" || thrown.facts["state"] === "changing")) return;
    throw thrown;
  }
}

function late({ server }: Asked, { path }: Document): GinError {
  return notReady(server, "timed_out", `it said nothing of ${path} as it is now`);
}
