import type { Hash, TreeDifference } from "../store/index.ts";
import type { EditInput, State } from "../workspace/index.ts";

/** A place in a text: line and character, both from 1. Lines end at LF or CRLF; characters are Unicode code points, as search counts them. */
export interface Place {
  readonly line: number;
  readonly character: number;
}

/** A part of a text; `end` is just behind its last character. */
export interface Span {
  readonly start: Place;
  readonly end: Place;
}

/** What the room asks of a workspace: `main.ts` makes it from the actor and the store. */
export interface LspWorkspace {
  readonly rowid: number;
  readonly id: string;
  /** Absolute path of its directory. */
  readonly root: string;
  /** Whether servers that may run code of the workspace may be started for it. */
  readonly trusted: boolean;
  /**
   * Records everything that was on disk when it was called (as Workspace.settle) and gives the state then. Cheap when nothing changed.
   * Rejects with NOT_READY until the first import has ended, CANCELLED, WORKSPACE_MISSING_ROOT, BUSY.
   */
  settle(signal?: AbortSignal): Promise<State>;
  /** Root of the head's tree now. */
  tree(): Hash;
  /** Root of the base's tree: what differs from it was changed since the workspace was opened or advanced. Undefined when it is not known. */
  base?(): Hash | undefined;
  /** What two trees hold differently, in byte order. */
  changes(from: Hash, to: Hash): Iterable<TreeDifference>;
  /** What a tree holds at a canonical path; undefined for nothing, or for what is no file. */
  hashAt(tree: Hash, path: string): Hash | undefined;
  /** Paths of files below a prefix ("" is all) of a tree, in byte order. */
  files(tree: Hash, prefix: string): Iterable<string>;
  /** Paths of symbolic links of a tree; none where it is not known of any. */
  links?(tree: Hash): Iterable<string>;
  /** A content's bytes; undefined when it is not kept, or larger than `TEXT_BYTES`. */
  bytes(sha256: Hash): Uint8Array | undefined;
  /**
   * The bytes at a path now, recorded or not (ignored files too), and their hash. Throws what a read throws: PATH_NOT_FOUND, NOT_A_FILE,
   * PATH_SENSITIVE, PATH_OUTSIDE_WORKSPACE, TOO_LARGE above `TEXT_BYTES`.
   */
  read(path: string, signal?: AbortSignal): Promise<{ readonly path: string; readonly sha256: Hash; readonly bytes: Uint8Array }>;
  /** Syntax, protected names and walk only: the canonical path. Throws PATH_INVALID, PATH_SENSITIVE, PATH_OUTSIDE_WORKSPACE. */
  canonical(path: string): string;
  /** Runs what calls `canonical` for many paths; the directories it passes are held open for it. */
  scope(run: () => void): void;
  /** Paths that a checkpoint touched, in byte order. Throws ID_NOT_FOUND for none of this workspace, TOO_LARGE for more than are asked about together. */
  touched(checkpoint: string): readonly string[];
  /** Called after each change of head; the returned function ends that. */
  onChange(listener: (state: State) => void): () => void;
}

/** What may be asked. */
export const LSP_ACTIONS = [
  "definition",
  "type_definition",
  "implementation",
  "references",
  "hover",
  "symbols",
  "workspace_symbols",
  "diagnostics",
  "incoming_calls",
  "outgoing_calls",
  "rename",
  "code_actions",
  "format",
  "organize_imports",
  "signature",
  "completion",
  "check",
  "view",
  "status",
  "restart",
] as const;
export type LspAction = (typeof LSP_ACTIONS)[number];

/** One question, its form checked by the api. */
export interface LspAsk {
  readonly workspace: LspWorkspace;
  readonly action: LspAction;
  /** Workspace-relative; "" where the action needs none. */
  readonly path: string;
  readonly line?: number;
  readonly character?: number;
  /** End of a range (code_actions, format); exclusive. */
  readonly endLine?: number;
  readonly endCharacter?: number;
  /** A name or name path ("Class/method", a leading "/" for the whole path), instead of a place or together with a line. */
  readonly symbol?: string;
  /** SHA-256 the caller read; another content is refused with STALE_CONTENT. */
  readonly ifHash?: Hash;
  /** workspace_symbols. */
  readonly query?: string;
  /** rename. */
  readonly newName?: string;
  /** code_actions: kinds to ask for ("quickfix", "source.organizeImports"); none is all. */
  readonly only?: readonly string[];
  /** code_actions: the id of the one to be worked out to an edit. */
  readonly codeAction?: string;
  /** references: whether the declaration counts. Default true. */
  readonly includeDeclaration?: boolean;
  /** diagnostics: several files; checkpoint: those it touched; neither nor path: the whole workspace, or what is open and changed. */
  readonly paths?: readonly string[];
  readonly checkpoint?: string;
  /** check: contents to be tried. */
  readonly edits?: readonly SpeculativeEdit[];
  /** view: the id of a location outside. */
  readonly view?: string;
  /** Id of a server of the table; undefined: the one for the path (or every one that runs, for workspace_symbols, status, restart). */
  readonly server?: string;
  /** Throws SCOPE_FORBIDDEN when the caller may not touch a canonical path. */
  readonly authorise: (path: string) => void;
  /** The same as a question: what a caller may not see is left out of answers. */
  readonly visible: (path: string) => boolean;
  readonly signal: AbortSignal;
  /** Milliseconds it may take in all; at least 1. */
  readonly timeoutMs: number;
}

/** A content to be tried by `check`: the whole text of a path, null for its absence. */
export interface SpeculativeEdit {
  readonly path: string;
  readonly text: string | null;
}

/** States of a server, as callers see them (session/machine.ts has the moves). */
export type ServerState = "stopped" | "starting" | "indexing" | "ready" | "stopping" | "crashed" | "broken";

/** A server of a workspace, or one that could be. */
export interface ServerStatus {
  /** Of the table, e.g. "typescript". */
  readonly server: string;
  /** Directory it was started for, workspace-relative; "" is the root. */
  readonly folder: string;
  readonly state: ServerState | "not_installed" | "needs_trust";
  /** What it calls itself and its version; "" when unknown. */
  readonly name: string;
  readonly version: string;
  /** Why it is not ready, or how it is installed; "" when all is well. Without absolute paths of the workspace. */
  readonly note: string;
  /** Command that installs it; "" when it is there. */
  readonly install: string;
  readonly languages: readonly string[];
  /** Resident bytes of its processes; 0 when it does not run. */
  readonly residentBytes: number;
  readonly openDocuments: number;
  readonly restarts: number;
  readonly idleMs: number;
  /** Last lines of its standard error (at most 4 KiB): for the owner only. */
  readonly stderrTail: string;
}

/** What every answer says of itself. */
export interface AnswerFacts {
  readonly server: string;
  readonly serverVersion: string;
  /** "ready", or "indexing" of a partial answer. */
  readonly state: ServerState;
  /** SHA-256 of the asked path's content the answer was computed for; "" when none was asked about. */
  readonly sha256: Hash | "";
  readonly generation: number;
  /** True when more may be known later, or the server does not look at everything: `note` says what is missing. */
  readonly partial: boolean;
  readonly note: string;
}

/** A location in a file of the workspace, or outside of it. */
export interface Location {
  /** Workspace-relative; of one outside, a name for people ("typescript/lib/lib.es5.d.ts"). */
  readonly path: string;
  readonly span: Span;
  /** True for dependencies and standard libraries that are no file of the workspace. */
  readonly outside: boolean;
  /** For action "view"; "" inside. */
  readonly view: string;
  /** SHA-256 of the content it stands in; "" outside. */
  readonly sha256: Hash | "";
  /** The line it begins in, cut to 200 characters; "" when it is not text. Data, never instructions. */
  readonly excerpt: string;
}

/** One symbol; children directly below it. */
export interface SymbolNode {
  readonly name: string;
  /** Name path from the file's top, "Class/method". */
  readonly namePath: string;
  /** Lower-case LSP name: "class", "method", "enum_member" … */
  readonly kind: string;
  readonly detail: string;
  readonly location: Location;
  /** Its name's own place. */
  readonly selection: Span;
  readonly children: readonly SymbolNode[];
}

export interface Diagnostic {
  readonly span: Span;
  /** "error", "warning", "information" or "hint". */
  readonly severity: "error" | "warning" | "information" | "hint";
  readonly code: string;
  readonly source: string;
  readonly message: string;
}

/** Diagnostics of one content of one file. Empty means that the server said so for this very content. */
export interface FileDiagnostics {
  readonly path: string;
  readonly sha256: Hash | "";
  readonly server: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Why there is no answer for this file; undefined when there is one. */
  readonly refused?: { readonly reason: string; readonly message: string };
}

/** One end of a call and where it is made. */
export interface Call {
  readonly name: string;
  readonly kind: string;
  readonly detail: string;
  readonly location: Location;
  readonly sites: readonly Location[];
}

export interface Signature {
  readonly label: string;
  readonly documentation: string;
  readonly parameters: readonly string[];
  readonly active: boolean;
  readonly activeParameter: number;
}

export interface Completion {
  readonly label: string;
  readonly kind: string;
  readonly detail: string;
  readonly insertText: string;
}

export interface CodeAction {
  /** Names it in the `codeAction` of a later question about the same content. */
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly preferred: boolean;
  /** Why it cannot be applied; "" when it can. */
  readonly disabled: string;
}

/** Edits a server proposes, as one save would make them; nothing is changed by planning. */
export interface EditPlan {
  readonly title: string;
  /** For Workspace.save; each expects the content it was computed for. */
  readonly edits: readonly EditInput[];
  readonly files: readonly EditedFile[];
  /** After the save: what the server says now. Never rejects for what the server does not know: it says so. */
  verify(signal: AbortSignal): Promise<Verified>;
}

/** What a plan does to one file. */
export interface EditedFile {
  readonly path: string;
  /** "" when it keeps its path. */
  readonly renamedTo: string;
  readonly deleted: boolean;
  readonly created: boolean;
  /** Of the text before. */
  readonly changes: readonly { readonly span: Span; readonly newText: string }[];
  readonly before: Hash | "absent";
}

/** What was found after an edit was saved. */
export interface Verified {
  /** References of the renamed symbol before and after; undefined where it was no rename. */
  readonly references?: { readonly before: number; readonly after: number };
  /** Diagnostics of the changed files that were not there before, and how many went. */
  readonly introduced: readonly FileDiagnostics[];
  readonly resolved: number;
  /** What could not be verified, or what differs; "" when all is as expected. */
  readonly note: string;
}

/** A list and how much more there was: the room bounds what it keeps. */
export interface Listed<T> {
  readonly items: readonly T[];
  /** All there are, also those beyond a bound. */
  readonly total: number;
}

/** What was found, by action. */
export type Found =
  | { readonly kind: "locations"; readonly locations: Listed<Location> }
  | { readonly kind: "hover"; readonly text: string; readonly span: Span | undefined }
  | { readonly kind: "symbols"; readonly symbols: Listed<SymbolNode> }
  | { readonly kind: "diagnostics"; readonly files: Listed<FileDiagnostics> }
  | { readonly kind: "calls"; readonly calls: Listed<Call> }
  | { readonly kind: "signatures"; readonly signatures: readonly Signature[] }
  | { readonly kind: "completions"; readonly completions: Listed<Completion> }
  | { readonly kind: "code_actions"; readonly actions: Listed<CodeAction> }
  | { readonly kind: "edit"; readonly plan: EditPlan }
  | {
      readonly kind: "check";
      readonly introduced: readonly FileDiagnostics[];
      readonly resolved: number;
      readonly files: Listed<FileDiagnostics>;
    }
  | { readonly kind: "view"; readonly path: string; readonly text: string; readonly lines: number }
  | { readonly kind: "servers"; readonly servers: readonly ServerStatus[] };

export interface LspAnswer extends AnswerFacts {
  readonly found: Found;
}

/** The room. */
export interface Lsp {
  /**
   * Asks. Rejects with PATH_*, SCOPE_FORBIDDEN, STALE_CONTENT (`ifHash`), BINARY_FILE, TOO_LARGE, INVALID_REQUEST, ID_NOT_FOUND, SYMBOL_NOT_FOUND,
   * SYMBOL_AMBIGUOUS, UNSUPPORTED (no server for it, not installed, not an ability of it), LSP_NEEDS_TRUST, NOT_READY with facts `state` ("starting",
   * "indexing", "crashed", "broken", "not_covered", "timed_out", "changing") and retry_after_ms, LSP_REFUSED (the server's own error), CANCELLED.
   */
  ask(question: LspAsk): Promise<LspAnswer>;
  /** Servers that run, ran, or would be used for files of the workspace. */
  servers(workspace: LspWorkspace): readonly ServerStatus[];
  /** Told of each change of a server's state. */
  onServer(listener: (workspace: number, status: ServerStatus) => void): () => void;
  /** Ends the servers of a workspace that is closed; resolves when no process is left. */
  detach(workspace: number): Promise<void>;
  /** Ends all; resolves when no process is left. */
  close(): Promise<void>;
}
