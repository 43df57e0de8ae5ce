import { GinError } from "../../base/index.ts";
import type { Document } from "../mirror/types.ts";
import type { Leased } from "../pool/types.ts";
import type { Room } from "../queries/types.ts";
import { notReady } from "../session/failures.ts";
import type { Deadline } from "../session/types.ts";
import type { FileDiagnostics } from "../types.ts";
import { diagnosticsIn } from "./convert.ts";
import { atMost, refusedFile } from "./files.ts";
import { judge } from "./judge.ts";

/** Times it is begun again because files changed between the two looks. */
const ATTEMPTS = 3;
const AT_ONCE = 8;
/** Milliseconds each file has that is only looked at as far as there is time. */
const OTHERS_MS = 3_000;

/** What a server says of the same paths as they are and with texts in their place. */
export interface Trial {
  /** By path; nothing for a path that is not there. */
  readonly real: ReadonlyMap<string, FileDiagnostics>;
  readonly tried: ReadonlyMap<string, FileDiagnostics>;
  /** Of the workspace both were about. */
  readonly generation: number;
}

/** What is tried, and what is looked at. */
export interface Trying {
  readonly leased: Leased;
  /** Texts in place of files; null for absence. */
  readonly texts: ReadonlyMap<string, string | null>;
  /** Paths to look at. */
  readonly looked: readonly string[];
  /** Others that are looked at as far as there is time. */
  readonly others?: readonly string[];
}

/**
 * Has a server judge files as they are, and then, alone with it and nothing on disk touched, with other texts in their place, which are taken back whatever happens. A
 * file it says nothing of is `refused` in either. Rejects with NOT_READY "changing" when files keep changing meanwhile, and as Mirror.overlaid does.
 */
export async function tryTexts({ clock }: Pick<Room, "clock">, trying: Trying, deadline: Deadline): Promise<Trial> {
  const { leased, texts, looked, others = [] } = trying;
  const { mirror, run, spec } = leased;
  const asked = { mirror, clock, server: spec.id };
  const look = async (path: string, document: Document): Promise<FileDiagnostics> => {
    const now = clock.monotonicMs();
    const atMs = others.includes(path)
      ? Math.min(deadline.atMs, now + Math.min(OTHERS_MS, (deadline.atMs - now) / 4))
      : deadline.atMs;
    const judged = await judge(asked, document, { ...deadline, atMs });
    const { text } = document;
    return {
      path,
      sha256: text.sha256,
      server: spec.id,
      diagnostics: diagnosticsIn(judged.items, text, run.encoding, mirror.workspace.root),
    };
  };
  const lookAt = async (path: string): Promise<FileDiagnostics | undefined> => {
    try {
      return await look(path, await mirror.open(path, deadline));
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED") throw thrown;
      // Nothing there is nothing to say; a server that ended says nothing of any file.
      if (thrown.reason === "PATH_NOT_FOUND") return undefined;
      if (thrown.facts["state"] === "crashed" || thrown.facts["state"] === "stopped") throw thrown;
      // With no time left nothing more can be tried.
      if (clock.monotonicMs() >= deadline.atMs) throw thrown;
      return refusedFile(path, thrown);
    }
  };
  const all = async (): Promise<ReadonlyMap<string, FileDiagnostics>> => {
    const found = await atMost(AT_ONCE, [...looked, ...others], lookAt);
    return new Map(found.filter((one) => one !== undefined).map((one) => [one.path, one]));
  };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const before = await mirror.shared(deadline, async () => {
      const told = await mirror.sync(deadline);
      return { told, real: await all() };
    });
    const tried = await mirror.overlaid(texts, deadline, all);
    const after = await mirror.sync(deadline);
    if (after.tree === before.told.tree && mirror.told?.tree === after.tree) {
      return { real: before.real, tried, generation: after.generation };
    }
  }
  throw notReady(spec.id, "changing", "files change while texts are tried");
}
