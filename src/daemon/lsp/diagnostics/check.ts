import { GinError } from "../../base/index.ts";
import type { Leased } from "../pool/types.ts";
import type { Room } from "../queries/types.ts";
import type { Deadline } from "../session/types.ts";
import { languageOf } from "../table/servers.ts";
import type { AnswerFacts, FileDiagnostics, LspAnswer, LspAsk, SpeculativeEdit } from "../types.ts";
import { deltaOf } from "./convert.ts";
import { refusedFile, together } from "./files.ts";
import { type Trial, tryTexts } from "./trial.ts";

/** Open files beside the edited ones that are looked at: they may depend on them. */
const MOST_OTHERS = 50;

/** Servers that find files that are open and not on disk from others. */
const FINDS_TRIED: ReadonlySet<string> = new Set(["typescript"]);

/** What one server says of a trial. */
interface Checked {
  readonly introduced: readonly FileDiagnostics[];
  readonly resolved: number;
  /** Of the edited files, as they would be. */
  readonly files: readonly FileDiagnostics[];
  readonly facts: AnswerFacts;
}

/**
 * What diagnostics edits would bring that are not made: of the edited files, and of files that are open and depend on them. Nothing on disk changes, and what was tried is
 * taken back. Edits for files that no server covers are answered as refused.
 */
export async function check(room: Room, question: LspAsk, deadline: Deadline): Promise<LspAnswer> {
  const edits = question.edits ?? [];
  if (edits.length === 0) {
    throw new GinError("INVALID_REQUEST", "there is nothing to check", undefined, { facts: { field: "trials" } });
  }
  const byPath = new Map<string, SpeculativeEdit>();
  for (const edit of edits) {
    if (byPath.has(edit.path)) {
      const facts = { field: "trials", path: edit.path };
      throw new GinError("INVALID_REQUEST", `${edit.path} is edited twice`, undefined, { facts });
    }
    byPath.set(edit.path, edit);
  }
  const { groups, refused } = await leaseAll(room, question, [...byPath.keys()], deadline);
  try {
    const texts = new Map([...byPath.values()].map(({ path, text }) => [path, text] as const));
    const all = await Promise.all([...groups.values()].map(({ leased }) => checkWith(room, question, leased, texts, deadline)));
    const files = [...all.flatMap((one) => one.files), ...refused];
    const notes = refused.length === 0 ? [] : [`nothing is known of ${refused.length} edited files: each says why`];
    const facts = together(
      all.map((one) => one.facts),
      ...notes,
    );
    const introduced = all.flatMap((one) => one.introduced);
    const resolved = all.reduce((sum, one) => sum + one.resolved, 0);
    return { ...facts, found: { kind: "check", introduced, resolved, files: { items: files, total: files.length } } };
  } finally {
    for (const { leased } of groups.values()) leased.release();
  }
}

/** One lease of each server that is for some of the paths. Throws the refusal when there is none, and what is more than "not covered". */
async function leaseAll(room: Room, { workspace, server }: LspAsk, paths: readonly string[], deadline: Deadline) {
  const groups = new Map<Leased["session"], { readonly leased: Leased }>();
  const refused: FileDiagnostics[] = [];
  let first: GinError | undefined;
  try {
    for (const path of paths) {
      try {
        const leased = await room.pool.lease(workspace, { path, ...(server === undefined ? {} : { server }) }, deadline);
        if (groups.has(leased.session)) leased.release();
        else groups.set(leased.session, { leased });
      } catch (thrown) {
        if (!(thrown instanceof GinError) || thrown.reason !== "UNSUPPORTED") throw thrown;
        first ??= thrown;
        refused.push(refusedFile(path, thrown));
      }
    }
    if (groups.size === 0 && first !== undefined) throw first;
    return { groups, refused };
  } catch (thrown) {
    for (const { leased } of groups.values()) leased.release();
    throw thrown;
  }
}

async function checkWith(
  room: Room,
  question: LspAsk,
  leased: Leased,
  texts: ReadonlyMap<string, string | null>,
  deadline: Deadline,
): Promise<Checked> {
  const { spec, mirror, run, session } = leased;
  const own = new Map([...texts].filter(([path]) => languageOf(spec, path) !== undefined));
  const open = [...mirror.documents().keys()].filter((path) => !own.has(path) && question.visible(path));
  const others = open.slice(0, MOST_OTHERS);
  const trial = await tryTexts(room, { leased, texts: own, looked: [...own.keys()], others }, deadline);
  const files = [...own.keys()].map((path) => trial.tried.get(path) ?? gone(path, spec.id));
  mustKnow(files);
  const { introduced, resolved, unknown } = compared(trial, [...own.keys(), ...others]);
  const absent = [...own].filter(([path, text]) => text === null && trial.real.has(path)).map(([path]) => path);
  const made = [...own].filter(([path, text]) => text !== null && !trial.real.has(path)).map(([path]) => path);
  const notes = [
    made.length > 0 && others.length > 0 && !FINDS_TRIED.has(spec.id)
      ? `${few(made)} ${made.length === 1 ? "is" : "are"} not on disk: ${spec.id} may not find that from other files`
      : "",
    // It is told that they are gone; one that looks for itself finds them.
    absent.length > 0
      ? `${few(absent)} ${absent.length === 1 ? "is" : "are"} still on disk: ${spec.id} may go on seeing that`
      : "",
    open.length > others.length ? `${open.length - others.length} more files are open and were not looked at` : "",
    unknown.length > 0 ? `${spec.id} did not say what it would find in ${few(unknown)}` : "",
  ].filter((note) => note !== "");
  const facts: AnswerFacts = {
    server: spec.id,
    serverVersion: run.info?.version ?? "",
    state: session.state === "indexing" ? "indexing" : "ready",
    sha256: "",
    generation: trial.generation,
    partial: notes.length > 0,
    note: notes.join("; "),
  };
  return { introduced, resolved, files, facts };
}

function few(paths: readonly string[]): string {
  return `${paths.slice(0, 5).join(", ")}${paths.length > 5 ? " …" : ""}`;
}

/** What is new and what went between the files as they are and as they would be; `unknown` are those that either is not known of. */
export function compared({ real, tried }: Trial, paths: readonly string[]) {
  const introduced: FileDiagnostics[] = [];
  const unknown: string[] = [];
  let resolved = 0;
  for (const path of paths) {
    const [before, after] = [real.get(path), tried.get(path)];
    if (before?.refused !== undefined || after?.refused !== undefined) {
      unknown.push(path);
      continue;
    }
    const delta = deltaOf(before?.diagnostics ?? [], after?.diagnostics ?? []);
    resolved += delta.resolved;
    if (after !== undefined && delta.introduced.length > 0) introduced.push({ ...after, diagnostics: delta.introduced });
  }
  return { introduced, resolved, unknown };
}

/** A file that would not be there has nothing to complain of. */
function gone(path: string, server: string): FileDiagnostics {
  return { path, sha256: "", server, diagnostics: [] };
}

/** When nothing is known of any edited file that is no answer. */
function mustKnow(files: readonly FileDiagnostics[]): void {
  const [first] = files;
  if (first?.refused === undefined || files.some(({ refused }) => refused === undefined)) return;
  const { reason, message } = first.refused;
  throw new GinError("NOT_READY", message, undefined, { facts: { state: reason, server: first.server }, retryAfterMs: 500 });
}
