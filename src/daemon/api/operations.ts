import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { AdminService } from "../../gen/gin/v1/admin_pb.ts";
import { GinService } from "../../gen/gin/v1/service_pb.ts";
import type { Scope } from "../base/index.ts";
import { LIMITS, type LimitName } from "./limits.ts";

/** The RPCs of both services by their key in generated code ("readPath"). */
const METHODS = { ...GinService.method, ...AdminService.method };

type Methods = typeof METHODS;

/** Key of an RPC that answers until it is ended. */
export type StreamKey = "watch";

/** Key of an operation: every RPC of one answer but Call, which only carries the others. */
export type OperationKey = Exclude<keyof Methods, "call" | StreamKey>;

/** Request message of an operation. */
export type RequestOf<K extends OperationKey> = MessageShape<Methods[K]["input"]>;

/** Response message of an operation. */
export type ResponseOf<K extends OperationKey> = MessageShape<Methods[K]["output"]>;

/** What an operation needs to know and who may call it. */
export interface Operation {
  /** read: changes nothing; store: its effect is in the store; external: its effect is outside it. */
  readonly kind: "read" | "store" | "external";
  /** Policy action and token scope. */
  readonly action: Scope;
  /**
   * Which workspace it speaks of: "open" needs one that is open, "any" also takes a closed one, "optional" does without
   * when none was named, "host" speaks of the host.
   */
  readonly target: "open" | "any" | "optional" | "host";
  /** Whether it must carry a request id and its outcome is kept. Renewals, releases and reads are not. */
  readonly recorded: boolean;
  /** Limit of its request message. */
  readonly message: LimitName;
}

function operation(
  kind: Operation["kind"],
  action: Scope,
  target: Operation["target"],
  recorded = false,
  message: LimitName = "message_bytes",
): Operation {
  return { kind, action, target, recorded, message };
}

/** THE table: every RPC, its kind, action and scope. A test compares it with the descriptors; Capabilities prints it. */
export const OPERATIONS: { readonly [K in OperationKey]: Operation } = {
  capabilities: operation("read", "read", "optional"),
  context: operation("read", "read", "open"),
  readPath: operation("read", "read", "open"),
  save: operation("store", "save", "open", true, "message_save_bytes"),
  requestOutcome: operation("read", "read", "optional"),
  acquireLease: operation("store", "lease", "open", true),
  renewLease: operation("store", "lease", "open"),
  releaseLease: operation("store", "lease", "open"),
  listLeases: operation("read", "read", "open"),
  breakLease: operation("store", "admin", "open", true),
  listCheckpoints: operation("read", "read", "open"),
  explain: operation("read", "read", "optional"),
  details: operation("read", "read", "optional"),
  diff: operation("read", "read", "open"),
  origin: operation("read", "read", "open"),
  writeAnnotation: operation("store", "annotate", "open", true),
  listAnnotations: operation("read", "read", "open"),
  undo: operation("store", "save", "open", true),
  redo: operation("store", "save", "open", true),
  listTools: operation("read", "read", "optional"),
  routeTool: operation("read", "read", "optional"),
  callTool: operation("store", "read", "open", true, "message_save_bytes"),
  lsp: operation("store", "lsp", "open", true, "message_save_bytes"),
  lspBatch: operation("read", "lsp", "open", false, "message_save_bytes"),
  openWorkspace: operation("store", "admin", "host", true),
  listWorkspaces: operation("read", "admin", "host"),
  closeWorkspace: operation("store", "admin", "any", true),
  removeWorkspace: operation("store", "admin", "any", true),
  relink: operation("store", "admin", "any", true),
  trustWorkspace: operation("store", "admin", "any", true),
  createToken: operation("store", "admin", "host", true),
  listTokens: operation("read", "admin", "host"),
  revokeToken: operation("store", "admin", "host", true),
  status: operation("read", "admin", "host"),
  collectGarbage: operation("store", "admin", "host", true),
  backup: operation("external", "admin", "host", true),
  shutdown: operation("external", "admin", "host", true),
};

/** The streams, in the same terms. Call does not carry them. */
export const STREAMS: { readonly [K in StreamKey]: Operation } = {
  watch: operation("read", "read", "open"),
};

/** Every stream's key, in the table's order. */
export const STREAM_KEYS = Object.keys(STREAMS) as readonly StreamKey[];

/** The RPC behind a stream's key. */
export function streamMethodOf<K extends StreamKey>(key: K): Methods[K] & DescMethodServerStreaming {
  return METHODS[key];
}

/** Every operation's key, in the table's order. */
export const OPERATION_KEYS = Object.keys(OPERATIONS) as readonly OperationKey[];

/** The RPC behind a key. */
export function methodOf(key: OperationKey): DescMethodUnary {
  return METHODS[key];
}

/** The RPC's name, e.g. "ReadPath". */
export function nameOf(key: OperationKey | StreamKey): string {
  return METHODS[key].name;
}

/** Whether an operation belongs to AdminService. */
export function isAdmin(key: OperationKey): boolean {
  return METHODS[key].parent === AdminService;
}

/** The operation's field in Request and Response, e.g. "read_path"; "" for admin operations, which Call does not carry. */
export function fieldOf(key: OperationKey): string {
  if (isAdmin(key)) return "";
  return METHODS[key].name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** The key of an RPC's name; undefined for names that are none. */
export function keyOfName(name: string): OperationKey | undefined {
  return OPERATION_KEYS.find((key) => METHODS[key].name === name);
}

/** URL path of an RPC. */
export function urlOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The largest request message of an operation, in bytes. */
export function maxBytesOf(key: OperationKey): number {
  return LIMITS[OPERATIONS[key].message].value;
}
