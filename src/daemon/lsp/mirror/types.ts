import type { Position, Range } from "vscode-languageserver-protocol";
import type { Clock } from "../../base/index.ts";
import type { Hash } from "../../store/index.ts";
import type { Deadline, Encoding, Run } from "../session/types.ts";
import type { LspWorkspace, Place, Span } from "../types.ts";

/** A text and its lines, as gin counts them (LF, CRLF) and as servers do (lone CR too). */
export interface Text {
  /** As the bytes decode, a byte order mark included: `offset` counts in it, so that what replaces parts of it keeps the mark. */
  readonly text: string;
  /** What the server is told: mostly without the byte order mark, as editors do (mirror/marks.ts). A mark is no character of line 1 for us. */
  readonly body: string;
  readonly sha256: Hash;
  /** Lines as gin counts them. */
  readonly lines: number;
  /** The place in a server's terms. Throws INVALID_REQUEST (fact `field`) for a line or character that is not there; one past a line's end is. */
  toServer(place: Place, encoding: Encoding): Position;
  /** A server's position in ours. One that lies outside is taken to the nearest that is in; inside of a character, to its start. */
  fromServer(position: Position, encoding: Encoding): Place;
  span(range: Range, encoding: Encoding): Span;
  /**
   * Offset in UTF-16 code units of `text` of a server's position. Throws LSP_REFUSED for one outside or inside of a character: edits are not bent. The line
   * after the last at character 0, and 2^31-1 or more for a line or character, are the end of the text or line.
   */
  offset(position: Position, encoding: Encoding): number;
  /** A line without its end; "" beyond the last. */
  line(number: number): string;
}

/** The workspace's state that a server has been told of. */
export interface Synced {
  readonly generation: number;
  readonly tree: Hash;
}

/** A document the server has open with exactly this content. */
export interface Document {
  readonly path: string;
  readonly uri: string;
  readonly languageId: string;
  /** Version as last told. */
  readonly version: number;
  readonly text: Text;
}

/** Diagnostics pushed for a document as it is now. */
export interface Pushed {
  readonly version: number | undefined;
  readonly items: readonly unknown[];
  readonly sha256: Hash;
  /** Whether they came after the server had worked through every change it was told, those of other files too. */
  readonly current: boolean;
}

/** Looks at what package managers leave behind in folders that are ignored and so not watched. */
export interface Dependencies {
  /**
   * Markers that are not as they were at the last look, workspace-relative, in no order; none at the first look. Some twenty calls to the file system, no
   * reads of contents.
   */
  look(): readonly string[];
}

/** What a mirror is made from. */
export interface MirrorParts {
  readonly run: Run;
  readonly workspace: LspWorkspace;
  readonly clock: Clock;
  /** Of the table, for errors. */
  readonly server: string;
  /** A tree the head had before the run's process was started: what differs from it is told at the first sync. An older one is only more to tell. */
  readonly since: Hash;
  /** LSP language id of a path. */
  readonly languageId: (path: string) => string;
  /** Ends the run, which cannot be trusted any more; called once, `why` is for the log. The mirror refuses everything from then on. */
  readonly stop: (why: string) => void;
  /** Workspace-relative directory the server was started in; default "". */
  readonly folder?: string;
  /** Other absolute names of the root that a server may answer with. */
  readonly aliases?: readonly string[];
  /**
   * Looked at by each sync: when something moved, the run is ended, as its server will not hear of it otherwise, and the sync refused with NOT_READY "starting".
   * Made, and looked at once, before the server is started; kept for the run after this one.
   */
  readonly dependencies?: Dependencies;
  /** Whether the server computes what it pushes in threads beside, and names no version (the table's `beside`); default false. */
  readonly beside?: boolean;
  readonly limits?: Partial<MirrorLimits>;
}

/** Bounds of a mirror; the defaults are MIRROR_LIMITS. */
export interface MirrorLimits {
  /** Documents open at a time. */
  readonly documents: number;
  /** Characters of all of them together. */
  readonly characters: number;
  /** File events in one message. */
  readonly events: number;
  /** Changed paths kept that no registered glob took: they are told when the server registers others. */
  readonly unmatched: number;
  /** Characters of texts kept beside open documents. */
  readonly cached: number;
  /** Milliseconds a message may wait to be written before the server counts as hung. */
  readonly writeMs: number;
  /** The same while texts that were tried are put back. */
  readonly revertMs: number;
}

/** What one run of a server knows of one workspace, kept true by content hash. */
export interface Mirror {
  /** The run given, with its requests and notifications counted: ask through this one, so that `pushed` knows what the server has worked through. */
  readonly run: Run;
  readonly workspace: LspWorkspace;
  /**
   * The state the server was last told; undefined before the first sync. Two questions may be under way at once: one whose answer came while this moved on
   * looks whether what it needed is still the same, and asks again where not.
   */
  readonly told: Synced | undefined;
  /**
   * Settles the workspace and tells the server everything that changed since the last time: didChangeWatchedFiles for files made, changed and
   * gone, didChange and didClose for open documents. When it resolves, whatever is asked next is asked about this state or a later one. Callers
   * share their syncs; none is given a state from before its call. Rejects as LspWorkspace.settle, with NOT_READY ("timed_out", "crashed", "changing"), CANCELLED.
   */
  sync(deadline: Deadline): Promise<Synced>;
  /**
   * The document of a canonical path at the synced state, opened when it was not. Throws PATH_NOT_FOUND, NOT_A_FILE, BINARY_FILE, TOO_LARGE, PATH_*, and NOT_READY
   * "changing" when the disk has moved on from a content that is not kept. Sync first.
   */
  open(path: string, deadline: Deadline): Promise<Document>;
  /** Closes least recently used documents beyond the bounds; never one in `keep`, nor one that another question under way may have opened. */
  trim(keep: ReadonlySet<string>): Promise<void>;
  /** Whether the server says nothing of a document that counts before it is nudged (MirrorParts.beside). */
  readonly beside: boolean;
  /** How many are open. */
  readonly opened: number;
  /** Those that the server has open now, by path, as they are now. */
  documents(): ReadonlyMap<string, Document>;
  /**
   * The text of a path of the workspace at the synced state, open or not, ignored ones from disk; undefined when there is none or it is not text. Its positions are those
   * of a server that was told it, or that read it: those differ where a byte order mark is, so ask for it soon after the answer.
   */
  text(path: string): Promise<Text | undefined>;
  /** The canonical workspace-relative path of a URI; undefined for what is not a file below the root. Never throws for a foreign URI. */
  pathOf(uri: string): string | undefined;
  uriOf(path: string): string;
  /** Runs beside other shared work; waits for exclusive work, first come first served. Every question runs in one. Ends with the deadline, whatever `work` does. */
  shared<T>(deadline: Deadline, work: () => Promise<T>): Promise<T>;
  /**
   * Alone with the server: open documents show the given texts (null: closed and told as deleted) while `work` runs, and are put back whatever happens; when they
   * cannot be put back the run is ended. Not to be called within shared work. A sync meanwhile changes what is put back.
   */
  overlaid<T>(
    edits: ReadonlyMap<string, string | null>,
    deadline: Deadline,
    work: (documents: ReadonlyMap<string, Document>) => Promise<T>,
  ): Promise<T>;
  /** Diagnostics the server pushed for the content that a document has now; undefined when none came for that very version (rule: mirror/pushed.ts). */
  pushed(uri: string): Pushed | undefined;
  /**
   * Tells an open document's text once more, as a new version, so that a server that pushes looks at it again: for pushes that came too early to count (those without
   * a version), or are not `current`. One that computes `beside` is shown it by a name of its own; nothing when that is under way, unless it is to be done `again`. Nothing for one that is not open.
   */
  nudge(path: string, again?: boolean): Promise<void>;
  /** Told after each push, whether it counts or not. */
  onPushed(listener: (uri: string) => void): () => void;
  close(): void;
}
