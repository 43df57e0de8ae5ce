import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ContextRequest,
  type ContextResponse,
  ContextResponseSchema,
  type ImportProgressSchema,
  type WatcherHealthSchema,
} from "../../../gen/gin/v1/context_pb.ts";
import { cutText, toGinError } from "../../base/index.ts";
import type { ImportProgress, WatchHealth } from "../../workspace/index.ts";
import { type Ground, type Handlers, type Invocation, stateIn, type Target, targetOf } from "../invocation.ts";
import { invalid, LIMITS, toCount, utf8Bytes } from "../limits.ts";
import { toCheckpoint } from "./checkpoint.ts";
import { toLease, visibleLease } from "./lease.ts";
import { toServer } from "./lsp-answer.ts";
import { baseOf } from "./snapshot.ts";

/** Parts of Context that can be asked for alone. */
const SECTIONS: readonly string[] = ["root", "leases", "history", "changes", "import", "watcher", "git", "servers"];

/** Leases shown unless everything was asked for; the rest comes from ListLeases. */
const SOME_LEASES = 5;

/** Bytes of intents and paths shown unless everything was asked for: Context stays within 4 kB. */
const LEASE_TEXT_BYTES = 512;

/** Language servers shown unless everything was asked for. */
const SOME_SERVERS = 5;

/** Characters of a server's note shown then. */
const SERVER_NOTE = 80;

/** Paths shown of each change unless everything was asked for. */
const SOME_PATHS = 5;

/** Context: what an agent calls first. */
export function contextHandlers(ground: Ground): Pick<Handlers, "context"> {
  return { context: (request, call) => context(ground, request, call) };
}

async function context(ground: Ground, request: ContextRequest, call: Invocation): Promise<ContextResponse> {
  const target = targetOf(call);
  const unknown = request.sections.findIndex((section) => !SECTIONS.includes(section));
  if (unknown !== -1) throw invalid(`sections[${unknown}]`, `must be one of ${SECTIONS.join(", ")}`);
  const wants = (section: string): boolean => request.sections.length === 0 || request.sections.includes(section);
  const { status, note } = target.workspace.status();
  const base = baseOf(ground, target);
  return create(ContextResponseSchema, {
    ...stateIn(call),
    repository: target.repository,
    repositoryName: target.repositoryName,
    workspace: target.id,
    workspaceName: target.name,
    status,
    statusNote: note,
    principal: call.caller.principal,
    applyPending: BigInt(target.workspace.applyPending()),
    ...(wants("root") ? { root: target.root } : {}),
    ...(wants("leases") ? { leases: leasesOf(ground, request, call) } : {}),
    ...(wants("history") ? { base, published: base, ...historyOf(ground, target.rowid) } : {}),
    ...(wants("changes") ? changesOf(ground, request, call) : {}),
    ...(wants("import") ? { import: toProgress(target.workspace.importProgress()) } : {}),
    ...(wants("watcher") ? { watcher: watcherOf(target.workspace.watching()) } : {}),
    ...(wants("git") ? await gitOf(ground, target) : {}),
    ...(wants("servers") ? { trusted: target.trusted, servers: serversOf(ground, request, call) } : {}),
  });
}

/** How far the first look at the whole tree is, in the contract's form. */
export function toProgress(progress: ImportProgress): MessageInitShape<typeof ImportProgressSchema> {
  const { done, files, bytes, directoriesLeft, unreadable, note } = progress;
  return {
    done,
    files: BigInt(files),
    bytes: BigInt(bytes),
    directoriesLeft: BigInt(directoriesLeft),
    unreadable: BigInt(unreadable),
    note,
  };
}

function watcherOf(health: WatchHealth | undefined): MessageInitShape<typeof WatcherHealthSchema> {
  if (health === undefined)
    return { kind: "off", healthy: false, note: "a path is compared with the disk when it is read or saved" };
  const { kind, state, directories } = health;
  const note = health.note !== "" || state === "watching" ? health.note : state;
  return { kind: state === "polling" ? "polling" : kind, healthy: state === "watching", directories: BigInt(directories), note };
}

/** Nothing where the directory is in no work tree, or its repository cannot be read now: that must not hide the rest. */
async function gitOf(ground: Ground, target: Target) {
  try {
    const git = await target.workspace.git();
    return git === undefined ? {} : { git };
  } catch (thrown) {
    ground.log.warn({ workspace: target.id, reason: toGinError(thrown).reason }, "the work tree's repository could not be asked");
    return {};
  }
}

/** Unless everything was asked for, the first few without their languages and standard error: Context stays within 4 kB. */
function serversOf(ground: Ground, request: ContextRequest, call: Invocation) {
  const target = targetOf(call);
  const all = ground.lsp.servers(ground.lsp.of(target, target.workspace)).map((one) => toServer(one, call.caller));
  return request.full
    ? all
    : all
        .slice(0, SOME_SERVERS)
        .map((one) => ({ ...one, languages: [], note: cutText(one.note ?? "", SERVER_NOTE), stderrTail: "" }));
}

/** The caller's own first, with their fences. */
function leasesOf(ground: Ground, request: ContextRequest, call: Invocation) {
  const { principal } = call.caller;
  const held = ground.leases.list(targetOf(call).rowid).flatMap((lease) => visibleLease(call.caller, lease) ?? []);
  const all = held.map((lease) => ({ lease, own: lease.holder === principal }));
  const sorted = all.sort((a, b) => Number(b.own) - Number(a.own) || a.lease.leaseEpoch - b.lease.leaseEpoch);
  const shown = sorted.slice(0, request.full ? LIMITS.list_max_entries.value : SOME_LEASES);
  let left = request.full ? Number.POSITIVE_INFINITY : LEASE_TEXT_BYTES;
  return shown
    .filter(({ lease, own }) => {
      left -= utf8Bytes(lease.intent) + lease.paths.reduce((sum, path) => sum + utf8Bytes(path), 0);
      // The caller's own carry its fences, which it may have lost: those are never left out.
      return own || left >= 0;
    })
    .map(({ lease, own }) => toLease(lease, own));
}

function historyOf(ground: Ground, rowid: number) {
  const facts = ground.reader.facts();
  const keptFrom = ground.reader.workspace(rowid)?.keptFrom ?? 0;
  const first = ground.reader.checkpointAt(rowid, Math.max(1, keptFrom));
  return {
    // Before gc has ever looked, all of it counts.
    historyBytes: BigInt(Math.max(0, facts.bytes - facts.neededBytes)),
    historyQuotaBytes: BigInt(ground.garbage.quotaBytes),
    historyCompleteSince: timestampFromMs(first?.timeMs ?? facts.createdMs),
  };
}

/** What changed since the generation the caller knows; nothing when it names none and does not ask for everything. */
function changesOf(ground: Ground, request: ContextRequest, call: Invocation) {
  const since = request.sinceGeneration;
  if (since === undefined && !request.full) return {};
  const known = since === undefined ? -1 : toCount(since);
  const most = request.full ? LIMITS.context_full_changes.value : LIMITS.context_changes.value;
  const paths = request.full ? LIMITS.checkpoint_paths.value : SOME_PATHS;
  const rows = ground.reader
    .checkpoints({ workspace: targetOf(call).rowid, limit: most + 1 })
    .filter((row) => row.generation > known);
  return {
    changes: rows.slice(0, most).map((row) => toCheckpoint(ground, call.caller, row, paths)),
    changesCut: rows.length > most,
  };
}
