/** What a token may be allowed; the actions of policy plus approve and admin. */
export const SCOPES = [
  "read",
  "save",
  "delete",
  "annotate",
  "lease",
  "lsp",
  "memory",
  "shell",
  "web_fetch",
  "web_search",
  "publish",
  "undo_others",
  "approve",
  "admin",
] as const;

/** One scope. `save` includes `delete` of files unless a policy says otherwise. */
export type Scope = (typeof SCOPES)[number];

/** Who calls, as the gate found out; every room takes it from here and nobody from the request. */
export interface Caller {
  /** Full name: "owner", "alice", "agent-7/tests". */
  readonly principal: string;
  readonly transport: "socket" | "tcp";
  readonly scopes: ReadonlySet<Scope>;
  /** Workspace ids it may speak of; undefined is all. */
  readonly workspaces: readonly string[] | undefined;
  /** Path prefixes it may touch, component-wise; undefined is all. */
  readonly paths: readonly string[] | undefined;
  /** "tk_…" when a token decided. */
  readonly tokenId: string | undefined;
  /** From `gin-client`: "NAME/VERSION", for logs. */
  readonly client: string;
}
