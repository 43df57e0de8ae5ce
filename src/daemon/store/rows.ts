import type {
  CauseName,
  Checkpoint,
  Content,
  DetailRow,
  Hash,
  LeaseRow,
  LookedRow,
  PathChange,
  PathState,
  RequestRow,
  TokenRow,
  WorkspaceRow,
} from "./types.ts";

// How rows of the schema become values of the contract, and back. A row read is trusted: only this store writes it.

/** A hash as a 32-byte blob. */
export function blob(hash: Hash): Buffer {
  return Buffer.from(hash, "hex");
}

/** A 32-byte blob as a hash. */
export function hex(bytes: Uint8Array): Hash {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** A path's state as three columns. */
export function stateColumns(state: PathState): [kind: number, sha256: Buffer | null, size: number | null] {
  if (state === null) return [0, null, null];
  return [kindOf(state), blob(state.sha256), state.size];
}

/** 1 file, 2 executable file, 3 symlink. */
export function kindOf(content: Content): number {
  return content.kind === "symlink" ? 3 : content.executable ? 2 : 1;
}

/** The inverse of kindOf. */
export function contentOf(kind: number, sha256: Hash, size: number): Content {
  return { kind: kind === 3 ? "symlink" : "file", sha256, size, executable: kind === 2 };
}

function stateOf(kind: number, sha256: Uint8Array | null, size: number | null): PathState {
  return kind === 0 || sha256 === null || size === null ? null : contentOf(kind, hex(sha256), size);
}

/** Columns of `checkpoint`. */
export interface CheckpointColumns {
  readonly workspace: number;
  readonly generation: number;
  readonly id: string;
  readonly parents: string;
  readonly cause: string;
  readonly principal: string;
  readonly request_id: string;
  readonly message: string;
  readonly time_ms: number;
  readonly tree: Uint8Array;
  readonly touched: number;
}

/** The row as the contract has it. */
export function checkpointOf(row: CheckpointColumns): Checkpoint {
  const { id, workspace, generation, principal, message } = row;
  return {
    id,
    workspace,
    parents: strings(row.parents),
    generation,
    cause: row.cause as CauseName,
    principal,
    requestId: row.request_id,
    message,
    timeMs: row.time_ms,
    tree: hex(row.tree),
  };
}

/** Columns of `touched` without its key. */
export interface TouchedColumns {
  readonly path: string;
  readonly before_kind: number;
  readonly before_sha256: Uint8Array | null;
  readonly before_size: number | null;
  readonly after_kind: number;
  readonly after_sha256: Uint8Array | null;
  readonly after_size: number | null;
  readonly renamed_from: string | null;
}

/** The row as the contract has it. */
export function changeOf(row: TouchedColumns): PathChange {
  const change = {
    path: row.path,
    before: stateOf(row.before_kind, row.before_sha256, row.before_size),
    after: stateOf(row.after_kind, row.after_sha256, row.after_size),
  };
  return row.renamed_from === null ? change : { ...change, renamedFrom: row.renamed_from };
}

/** Columns of `workspace` joined with its repository. */
export interface WorkspaceColumns
  extends Omit<
    WorkspaceRow,
    "tree" | "status" | "leaseEpoch" | "keptFrom" | "repositoryName" | "imported" | "gitCommit" | "trusted"
  > {
  readonly tree: Uint8Array;
  readonly status: string;
  readonly lease_epoch: number;
  readonly kept_from: number;
  readonly repository_name: string;
  readonly imported: number;
  readonly git_commit: string;
  readonly trusted: number;
}

/** The row as the contract has it. */
export function workspaceOf(row: WorkspaceColumns): WorkspaceRow {
  const {
    tree,
    status,
    lease_epoch: leaseEpoch,
    kept_from: keptFrom,
    repository_name: repositoryName,
    imported,
    git_commit: gitCommit,
    trusted,
    ...same
  } = row;
  const open = status === "closed" ? "closed" : "active";
  return {
    ...same,
    repositoryName,
    tree: hex(tree),
    status: open,
    leaseEpoch,
    keptFrom,
    imported: imported === 1,
    gitCommit,
    trusted: trusted === 1,
  };
}

/** Columns of `looked`. */
export interface LookedColumns {
  readonly path: string;
  readonly stamp: string;
  readonly newest_ms: number;
  readonly sha256: Uint8Array;
}

/** The row as the contract has it. */
export function lookedOf(row: LookedColumns): LookedRow {
  return { path: row.path, stamp: row.stamp, newestMs: row.newest_ms, sha256: hex(row.sha256) };
}

/** Columns of `request`. */
export interface RequestColumns {
  readonly scope: number;
  readonly principal: string;
  readonly id: string;
  readonly operation: string;
  readonly digest: Uint8Array;
  readonly outcome: string;
  readonly answer: Uint8Array;
  readonly time_ms: number;
}

/** The row as the contract has it. */
export function requestOf(row: RequestColumns): RequestRow {
  const { scope, principal, id, operation, answer } = row;
  const outcome = row.outcome === "committed" ? "committed" : "rejected";
  return { scope, principal, id, operation, digest: hex(row.digest), outcome, answer, timeMs: row.time_ms };
}

/** Columns of `lease`. */
export interface LeaseColumns extends Omit<LeaseRow, "paths" | "ttlMs" | "state"> {
  readonly paths: string;
  readonly ttl_ms: number;
  readonly state: string;
}

/** The row as the contract has it. */
export function leaseOf(row: LeaseColumns): LeaseRow {
  const { paths, ttl_ms: ttlMs, state, ...same } = row;
  return { ...same, paths: strings(paths), ttlMs, state: state === "held" ? "held" : "ended" };
}

/** Columns of `token`. */
export interface TokenColumns {
  readonly id: string;
  readonly secret_sha256: Uint8Array;
  readonly principal: string;
  readonly scopes: string;
  readonly workspaces: string;
  readonly paths: string;
  readonly created_ms: number;
  readonly expires_ms: number;
  readonly last_used_ms: number;
  readonly revoked_ms: number;
  readonly created_by: string;
}

/** The row as the contract has it. */
export function tokenOf(row: TokenColumns): TokenRow {
  return {
    id: row.id,
    secretSha256: hex(row.secret_sha256),
    principal: row.principal,
    scopes: strings(row.scopes),
    workspaces: strings(row.workspaces),
    paths: strings(row.paths),
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
    lastUsedMs: row.last_used_ms,
    revokedMs: row.revoked_ms,
    createdBy: row.created_by,
  };
}

/** Columns of `detail`. */
export interface DetailColumns extends Omit<DetailRow, "timeMs"> {
  readonly time_ms: number;
}

/** The row as the contract has it. */
export function detailOf(row: DetailColumns): DetailRow {
  const { time_ms: timeMs, ...same } = row;
  return { ...same, timeMs };
}

function strings(json: string): string[] {
  return JSON.parse(json) as string[];
}
