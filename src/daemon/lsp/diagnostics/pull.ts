import type { Hash } from "../../store/index.ts";
import type { Document, Mirror } from "../mirror/types.ts";
import { isObject, type Raw } from "../queries/raw.ts";
import { notReady } from "../session/failures.ts";
import type { Deadline, Run } from "../session/types.ts";

const METHOD = "textDocument/diagnostic";

/** Documents whose last answer is kept, for each mirror. */
const MOST_KEPT = 1_000;

/** A source of diagnostics of a server, by its identifier. */
export interface PullProvider {
  readonly identifier: string | undefined;
  readonly workspace: boolean;
}

/** Every source a server says it has, when it was initialised or since; each is asked. */
export function pullProviders(run: Run): readonly PullProvider[] {
  const all = [run.capabilities.diagnosticProvider, ...run.registered(METHOD)].filter(isObject);
  const byIdentifier = new Map<string | undefined, PullProvider>();
  for (const one of all) {
    const identifier = typeof one["identifier"] === "string" ? one["identifier"] : undefined;
    const workspace = one["workspaceDiagnostics"] === true || byIdentifier.get(identifier)?.workspace === true;
    byIdentifier.set(identifier, { identifier, workspace });
  }
  return [...byIdentifier.values()];
}

/** Who is asked; `server` is of the table. */
export interface Pulling {
  readonly mirror: Mirror;
  readonly server: string;
}

/** Diagnostics of a document, and of others that the server told beside them, by URI. */
export interface Pulled {
  readonly items: readonly Raw[];
  readonly related: ReadonlyMap<string, readonly Raw[]>;
}

/** An answer that a later one may refer to. */
interface Kept {
  readonly sha256: Hash;
  readonly resultId: string;
  readonly items: readonly Raw[];
}

/** By mirror, that is by run: ids are the server's, and end with it. Least recently used first. */
const KEPT = new WeakMap<Mirror, Map<string, Kept>>();

/**
 * Diagnostics of a document from every source. An earlier answer is referred to only where it was about this very content: "unchanged" then speaks of the same places.
 */
export async function pulled(
  { mirror, server }: Pulling,
  providers: readonly PullProvider[],
  document: Document,
  deadline: Deadline,
): Promise<Pulled> {
  const parts = await Promise.all(providers.map((provider) => one({ mirror, server }, provider, document, deadline)));
  return { items: parts.flatMap(({ items }) => items), related: new Map(parts.flatMap(({ related }) => [...related])) };
}

async function one(
  { mirror, server }: Pulling,
  { identifier }: PullProvider,
  { uri, text: { sha256 } }: Document,
  deadline: Deadline,
): Promise<Pulled> {
  const kept = KEPT.get(mirror) ?? new Map<string, Kept>();
  KEPT.set(mirror, kept);
  const key = `${identifier ?? ""}\n${uri}`;
  const last = kept.get(key);
  const known = last?.sha256 === sha256 ? last : undefined;
  const report = await mirror.run.request(
    METHOD,
    {
      textDocument: { uri },
      ...(identifier === undefined ? {} : { identifier }),
      ...(known === undefined ? {} : { previousResultId: known.resultId }),
    },
    deadline,
  );
  const read = reportOf(report);
  const items = read?.items ?? (read?.kind === "unchanged" ? known?.items : undefined);
  // A report that says nothing is no "none".
  if (items === undefined) throw notReady(server, "changing", "its report says nothing");
  kept.delete(key);
  if (read?.resultId !== undefined) kept.set(key, { sha256, resultId: read.resultId, items });
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
  }
  return { items, related: relatedIn(report) };
}

/** What a report tells of other documents; what it only says to be unchanged is left out. */
function relatedIn(report: unknown): ReadonlyMap<string, readonly Raw[]> {
  const related = isObject(report) && isObject(report["relatedDocuments"]) ? report["relatedDocuments"] : {};
  const found = new Map<string, readonly Raw[]>();
  for (const [uri, one] of Object.entries(related)) {
    const items = reportOf(one)?.items;
    if (items !== undefined) found.set(uri, items);
  }
  return found;
}

/** A report's parts; undefined for what is none. */
export function reportOf(
  report: unknown,
):
  | { readonly kind: "full" | "unchanged"; readonly resultId: string | undefined; readonly items: readonly Raw[] | undefined }
  | undefined {
  if (!isObject(report)) return undefined;
  const { kind, items } = report;
  const resultId = typeof report["resultId"] === "string" ? report["resultId"] : undefined;
  if (kind === "unchanged") return { kind, resultId, items: undefined };
  return Array.isArray(items) ? { kind: "full", resultId, items: items.filter(isObject) } : undefined;
}
