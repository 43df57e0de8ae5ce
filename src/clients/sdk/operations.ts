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

/** Actions that change nothing, of tools that have others too. A test compares them with the tools' own table. */
export const READ_ONLY_ACTIONS: { readonly [tool: string]: readonly string[] } = {
  memory: ["recall", "list", "search"],
  undo: ["list", "preview"],
};

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
  lsp: RECORDED,
  lsp_batch: READ,
};

/** Operations of AdminService by RPC name. A test compares the names with the contract. */
export const ADMIN_OPERATIONS: { readonly [method: string]: OperationInfo } = {
  OpenWorkspace: RECORDED,
  ListWorkspaces: READ,
  CloseWorkspace: RECORDED,
  RemoveWorkspace: RECORDED,
  Relink: RECORDED,
  TrustWorkspace: RECORDED,
  CreateToken: RECORDED,
  ListTokens: READ,
  RevokeToken: RECORDED,
  Status: READ,
  CollectGarbage: RECORDED,
  Backup: RECORDED,
  Shutdown: RECORDED,
};

/** Whether a message asks for something that changes nothing, though its operation could: a trial, a call of a read-only tool, or a question to a language server. */
export function changesNothing(operation: string, message: { readonly [field: string]: unknown }): boolean {
  if (message.dry_run === true || message.dryRun === true || message.preview === true) return true;
  if (operation === "lsp") return message.apply !== true;
  if (operation !== "call_tool") return false;
  const args: { readonly [name: string]: unknown } = { ...(message.arguments as object | undefined) };
  const tool = String(message.tool);
  const reads = Object.hasOwn(READ_ONLY_ACTIONS, tool) && READ_ONLY_ACTIONS[tool]?.includes(String(args.action)) === true;
  return args.dry_run === true || reads || READ_ONLY_TOOLS.includes(tool);
}

/**
 * What is known of an operation. One that this client does not know counts as a recorded mutation: the careful reading when its answer
 * is lost.
 */
export function operationInfo(table: { readonly [name: string]: OperationInfo }, name: string, trial: boolean): OperationInfo {
  if (trial) return READ;
  return (Object.hasOwn(table, name) ? table[name] : undefined) ?? RECORDED;
}
