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

/**
 * What is known of an operation. One that this client does not know counts as a recorded mutation: the careful reading when its answer
 * is lost.
 */
export function operationInfo(table: { readonly [name: string]: OperationInfo }, name: string, dryRun: boolean): OperationInfo {
  if (dryRun) return READ;
  return (Object.hasOwn(table, name) ? table[name] : undefined) ?? RECORDED;
}
