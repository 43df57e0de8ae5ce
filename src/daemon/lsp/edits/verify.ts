import { toGinError } from "../../base/index.ts";
import { compared, tryTexts } from "../diagnostics/index.ts";
import { onGround, onLease } from "../queries/ground.ts";
import { REFERENCES } from "../queries/references.ts";
import type { Ground, Needs } from "../queries/types.ts";
import type { Deadline } from "../session/types.ts";
import { languageOf } from "../table/servers.ts";
import type { EditedFile, FileDiagnostics, LspAsk, Place, Verified } from "../types.ts";
import { bearing, few, usesOf } from "./uses.ts";

/** Milliseconds looking at what came of a save may take, and no more than the question itself had. */
const VERIFY_MS = 15_000;
/** Changed files that are judged before and after; of a larger edit none is, as all of it would have to be put back for that. */
const MOST_JUDGED = 40;

const COUNTING: Needs = { about: "place", ability: REFERENCES, indexing: "refused", across: "changes" };

/** What a rename is compared with when it was saved. */
export interface Before {
  /** References that bore the old name. */
  readonly count: number;
  /** The new one. */
  readonly name: string;
  /** Where the name stands once it was saved. */
  readonly path: string;
  readonly place: Place;
}

/**
 * What a plan's `verify` does: counts references again at the renamed place, and compares diagnostics of the changed files with what they would be without the edit, which is put
 * back before the server's eyes for that, and nowhere else.
 */
export async function verifier(
  ground: Ground,
  files: readonly EditedFile[],
  before: Before | undefined,
): Promise<(signal: AbortSignal) => Promise<Verified>> {
  const { room, question, clock, leased } = ground;
  const { spec, folder } = leased;
  const texts = await textsBefore(ground, files);
  return async (signal) => {
    const deadline: Deadline = { atMs: clock.monotonicMs() + Math.min(VERIFY_MS, question.timeoutMs), signal };
    const own = { ...question, signal };
    const notes: string[] = [];
    const said = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (thrown) {
        const { message } = toGinError(thrown);
        notes.push(`${what}: ${message}`);
        return undefined;
      }
    };
    const after =
      before === undefined
        ? undefined
        : await said("references were not counted again", () => recount(ground, before, own, deadline));
    if (before !== undefined && after !== undefined && after !== before.count) {
      notes.push(`${before.count} references bore the old name, and ${after} bear the new one`);
    }
    const looked = texts === undefined ? [] : [...texts.keys()];
    if (texts === undefined) notes.push(`diagnostics were not compared, as more than ${MOST_JUDGED} files changed`);
    const foreign =
      texts === undefined ? [] : files.filter(({ path, renamedTo }) => !texts.has(renamedTo === "" ? path : renamedTo));
    if (foreign.length > 0)
      notes.push(`${spec.id} is not for ${few(foreign.map(({ path }) => path))}: diagnostics there were not compared`);
    const delta =
      texts === undefined || texts.size === 0
        ? undefined
        : await said("diagnostics were not compared", () =>
            onLease(room, own, deadline, { indexing: "refused" }, { server: spec.id, folder }, async (held) => {
              const trial = await tryTexts(room, { leased: held, texts, looked }, deadline);
              return compared({ ...trial, real: trial.tried, tried: followed(trial.real, files) }, looked);
            }),
          );
    if (delta !== undefined && delta.unknown.length > 0)
      notes.push(`nothing is known of ${delta.unknown.slice(0, 5).join(", ")}`);
    return {
      ...(before === undefined || after === undefined ? {} : { references: { before: before.count, after } }),
      introduced: (delta?.introduced ?? []).filter(({ path }) => question.visible(path)),
      resolved: delta?.resolved ?? 0,
      note: notes.join("; "),
    };
  };
}

/** How many references there are now. */
async function recount(
  { room, leased: { spec } }: Ground,
  { path, place, name }: Before,
  question: LspAsk,
  deadline: Deadline,
): Promise<number> {
  const { ifHash: _hash, symbol: _symbol, ...asked } = question;
  const about = { ...asked, path, line: place.line, character: place.character, server: spec.id };
  const { value } = await onGround(room, about, deadline, COUNTING, async (ground) =>
    bearing(ground, await usesOf(ground), name),
  );
  return value.length;
}

/** Texts that were there before, by path; null where nothing was. Undefined when they are too many. */
async function textsBefore(
  { leased: { spec }, ...ground }: Ground,
  files: readonly EditedFile[],
): Promise<ReadonlyMap<string, string | null> | undefined> {
  if (files.length > MOST_JUDGED) return undefined;
  const texts = new Map<string, string | null>();
  for (const { path, renamedTo, created } of files) {
    const text = created ? null : (await ground.text(path))?.text;
    if (text !== undefined && languageOf(spec, path) !== undefined) texts.set(path, text);
    if (renamedTo !== "" && languageOf(spec, renamedTo) !== undefined && !texts.has(renamedTo)) texts.set(renamedTo, null);
  }
  return texts;
}

/** A renamed file is compared with itself. */
function followed(found: ReadonlyMap<string, FileDiagnostics>, files: readonly EditedFile[]): Map<string, FileDiagnostics> {
  const followed = new Map(found);
  for (const { path, renamedTo } of files) {
    const now = renamedTo === "" ? undefined : found.get(renamedTo);
    if (now === undefined) continue;
    followed.delete(renamedTo);
    followed.set(path, now);
  }
  return followed;
}
