/** What the client must know of an operation: whether it changes something, and whether RequestOutcome can tell about it. */
export interface OperationInfo {
  /** A request id is minted for it, and a lost answer leaves its outcome unknown. */
  readonly mutation: boolean;
  /** Its outcome is recorded under the request id. */
  readonly recorded: boolean;
}

const READ: OperationInfo = { mutation: false, recorded: false };
const RECORDED: OperationInfo = { mutation: true, recorded: true };
const UNRECORDED: OperationInfo = { mutation: true, recorded: false };

/** Tools whose calls change nothing whatever their arguments are. A test compares them with the tools' own table. */
export const READ_ONLY_TOOLS: readonly string[] = [
  "read_file",
  "multi_read",
  "search_files",
  "stat_file",
  "list_dir",
  "find_files",
  "list_tools",
  "detect_project",
  "lsp_query",
  "lsp_batch",
  "diff_files",
];

/** Operations of GinService by their field in `gin.v1.Request`. A test compares the names with the contract. */
export const OPERATIONS: { readonly [field: string]: OperationInfo } = {
  capabilities: READ,
  context: READ,
  read_path: READ,
  save: RECORDED,
  request_outcome: READ,
  acquire_lease: RECORDED,
  renew_lease: UNRECORDED,
  release_lease: UNRECORDED,
  list_leases: READ,
  break_lease: RECORDED,
  list_checkpoints: READ,
  explain: READ,
  details: READ,
  diff: READ,
  origin: READ,
  write_annotation: RECORDED,
  list_annotations: READ,
  undo: RECORDED,
  redo: RECORDED,
  list_tools: READ,
  route_tool: READ,
  call_tool: RECORDED,
};

/** Operations of AdminService by RPC name. A test compares the names with the contract. */
export const ADMIN_OPERATIONS: { readonly [method: string]: OperationInfo } = {
  OpenWorkspace: RECORDED,
  ListWorkspaces: READ,
  CloseWorkspace: RECORDED,
  RemoveWorkspace: RECORDED,
  Relink: RECORDED,
  CreateToken: RECORDED,
  ListTokens: READ,
  RevokeToken: RECORDED,
  Status: READ,
  CollectGarbage: RECORDED,
  Backup: RECORDED,
  Shutdown: RECORDED,
};

/** Whether a message asks for something that changes nothing, though its operation could: a trial, or a call of a read-only tool. */
export function changesNothing(operation: string, message: { readonly [field: string]: unknown }): boolean {
  if (message.dry_run === true || message.dryRun === true || message.preview === true) return true;
  if (operation !== "call_tool") return false;
  const args = message.arguments;
  const trial = typeof args === "object" && args !== null && "dry_run" in args && args.dry_run === true;
  return trial || READ_ONLY_TOOLS.includes(String(message.tool));
}

/**
 * What is known of an operation. One that this client does not know counts as a recorded mutation: the careful reading when its answer
 * is lost.
 */
export function operationInfo(table: { readonly [name: string]: OperationInfo }, name: string, trial: boolean): OperationInfo {
  if (trial) return READ;
  return (Object.hasOwn(table, name) ? table[name] : undefined) ?? RECORDED;
}
