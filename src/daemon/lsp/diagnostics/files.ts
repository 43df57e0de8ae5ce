import { GinError } from "../../base/index.ts";
import { type Grounded, onGround } from "../queries/ground.ts";
import { maySee } from "../queries/locations.ts";
import { documentOf, type Ground, type Needs, type Room } from "../queries/types.ts";
import type { Deadline } from "../session/types.ts";
import type { AnswerFacts, FileDiagnostics, LspAnswer, LspAsk } from "../types.ts";
import { diagnosticsIn } from "./convert.ts";
import { judge } from "./judge.ts";

/** Files that are asked about at a time: each may open a document. */
const AT_ONCE = 8;

const NEEDS: Needs = { about: "document", indexing: "refused", across: "changes" };

/** Diagnostics of one file, and of others that its server tells beside them. */
export async function ofFile(room: Room, question: LspAsk, deadline: Deadline): Promise<LspAnswer> {
  const { value, facts } = await onFile(room, question, deadline);
  return { ...facts, found: { kind: "diagnostics", files: { items: value, total: value.length } } };
}

/** Diagnostics of several files, each of which may be another server's. What is not known of a file is said of that file; all refused alike is refused. */
export async function ofFiles(room: Room, question: LspAsk, paths: readonly string[], deadline: Deadline): Promise<LspAnswer> {
  const asked = [...new Set(paths)];
  if (asked.length === 0)
    throw new GinError("INVALID_REQUEST", "there is no file to ask about", undefined, { facts: { field: "paths" } });
  const outcomes = await atMost(AT_ONCE, asked, async (path) => {
    try {
      return await onFile(room, { ...question, path }, deadline);
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED" || thrown.reason === "SCOPE_FORBIDDEN") throw thrown;
      return thrown;
    }
  });
  const answers = outcomes.flatMap((one) => (one instanceof GinError ? [] : [one]));
  // Nothing at all because of a server's state is an error like that of one file.
  const late = answers.length === 0 ? outcomes.find((one) => one instanceof GinError && one.reason === "NOT_READY") : undefined;
  if (late instanceof GinError) throw late;
  const files = new Map<string, FileDiagnostics>();
  for (const { value } of answers) for (const file of value.slice(1)) files.set(file.path, file);
  for (const [index, path] of asked.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof GinError) files.set(path, refusedFile(path, outcome));
    else if (outcome?.value[0] !== undefined) files.set(path, outcome.value[0]);
  }
  const items = [
    ...asked.flatMap((path) => files.get(path) ?? []),
    ...[...files.values()].filter((one) => !asked.includes(one.path)),
  ];
  const silent = items.filter(({ refused }) => refused !== undefined).length;
  const note = silent === 0 ? "" : `nothing is known of ${silent} of ${items.length} files: each says why`;
  const facts = together(
    answers.map((one) => one.facts),
    note,
  );
  return { ...facts, found: { kind: "diagnostics", files: { items, total: items.length } } };
}

function onFile(room: Room, question: LspAsk, deadline: Deadline): Promise<Grounded<readonly FileDiagnostics[]>> {
  return onGround(room, question, deadline, NEEDS, async (ground) => {
    const document = documentOf(ground);
    const { path, text } = document;
    const server = ground.leased.spec.id;
    const { items, related } = await judge({ mirror: ground.mirror, clock: ground.clock, server }, document, deadline);
    const file = {
      path,
      sha256: text.sha256,
      server,
      diagnostics: diagnosticsIn(items, text, ground.encoding, ground.question.workspace.root),
    };
    const others: FileDiagnostics[] = [];
    for (const [uri, told] of related) {
      const other = await toldOf(ground, uri, told);
      if (other !== undefined && other.path !== path) others.push(other);
    }
    return [file, ...others];
  });
}

/** What a server told of another file; undefined for one outside, or that the caller may not see. */
export async function toldOf(ground: Ground, uri: string, items: readonly unknown[]): Promise<FileDiagnostics | undefined> {
  const path = ground.mirror.pathOf(uri);
  if (path === undefined || !ground.question.visible(path) || !maySee(ground, path)) return undefined;
  const text = await ground.text(path);
  if (text === undefined) return undefined;
  const server = ground.leased.spec.id;
  return {
    path,
    sha256: text.sha256,
    server,
    diagnostics: diagnosticsIn(items, text, ground.encoding, ground.question.workspace.root),
  };
}

/** A file of which nothing is known, and why: "not_covered" by any server, a server's state, or a reason. */
export function refusedFile(path: string, { reason, message, facts }: GinError): FileDiagnostics {
  const state = reason === "NOT_READY" && typeof facts["state"] === "string" ? facts["state"] : reason;
  const server = typeof facts["server"] === "string" ? facts["server"] : "";
  const refused = { reason: reason === "UNSUPPORTED" ? "not_covered" : state, message };
  return { path, sha256: "", server, diagnostics: [], refused };
}

/** What is said of an answer made of several: what they have in common, the oldest generation, every note. */
export function together(all: readonly AnswerFacts[], ...notes: readonly string[]): AnswerFacts {
  const one = <T>(values: readonly T[], none: T): T => (new Set(values).size === 1 ? (values[0] ?? none) : none);
  const said = [...all.map(({ note }) => note), ...notes].filter((note) => note !== "");
  return {
    server: one(
      all.map(({ server }) => server),
      "",
    ),
    serverVersion: one(
      all.map(({ serverVersion }) => serverVersion),
      "",
    ),
    state: all.find(({ state }) => state !== "ready")?.state ?? "ready",
    sha256: "",
    generation: all.length === 0 ? 0 : Math.min(...all.map(({ generation }) => generation)),
    partial: all.some(({ partial }) => partial) || notes.some((note) => note !== ""),
    note: [...new Set(said)].join("; "),
  };
}

/** Works on items, a bounded number at a time, and keeps their order. */
export async function atMost<T, R>(count: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, worker));
  return results;
}
