import type { Position, Range } from "vscode-languageserver-protocol";
import type { Hash } from "../../store/index.ts";
import type { Deadline, Encoding, Run } from "../session/types.ts";
import type { LspWorkspace, Place, Span } from "../types.ts";

/** A text and its lines, as gin counts them (LF, CRLF) and as servers do (lone CR too). */
export interface Text {
  readonly text: string;
  readonly sha256: Hash;
  /** Lines as gin counts them. */
  readonly lines: number;
  /** The place in a server's terms. Throws INVALID_REQUEST (fact `field`) for a line or character that is not there; one past a line's end is. */
  toServer(place: Place, encoding: Encoding): Position;
  /** A server's position in ours. One that lies outside is taken to the nearest that is in; inside of a character, to its start. */
  fromServer(position: Position, encoding: Encoding): Place;
  span(range: Range, encoding: Encoding): Span;
  /** Offset in UTF-16 code units of a server's position. Throws LSP_REFUSED for one outside: edits are not bent. */
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

/** What one run of a server knows of one workspace, kept true by content hash. */
export interface Mirror {
  readonly run: Run;
  readonly workspace: LspWorkspace;
  /**
   * Settles the workspace and tells the server everything that changed since the last time: didChangeWatchedFiles for files made, changed and
   * gone, didChange and didClose for open documents. When it resolves, whatever is asked next is asked about this state.
   */
  sync(deadline: Deadline): Promise<Synced>;
  /** The document of a canonical path at the synced state, opened when it was not. Throws PATH_NOT_FOUND, NOT_A_FILE, BINARY_FILE, TOO_LARGE, PATH_*. */
  open(path: string, deadline: Deadline): Promise<Document>;
  /** Closes least recently used documents beyond the bound; never one in `keep`. */
  trim(keep: ReadonlySet<string>): Promise<void>;
  /** How many are open. */
  readonly opened: number;
  /** The text of a path of the workspace at the synced state, open or not, ignored ones from disk; undefined when there is none or it is not text. */
  text(path: string): Promise<Text | undefined>;
  /** The canonical workspace-relative path of a URI; undefined for what is not a file below the root. Never throws for a foreign URI. */
  pathOf(uri: string): string | undefined;
  uriOf(path: string): string;
  /** Runs beside other shared work; waits for exclusive work. */
  shared<T>(deadline: Deadline, work: () => Promise<T>): Promise<T>;
  /**
   * Alone with the server: open documents show the given texts (null: closed and told as deleted) while `work` runs, and are put back whatever happens; when they
   * cannot be put back the run is ended.
   */
  overlaid<T>(
    edits: ReadonlyMap<string, string | null>,
    deadline: Deadline,
    work: (documents: ReadonlyMap<string, Document>) => Promise<T>,
  ): Promise<T>;
  /** Diagnostics the server pushed for the content that a document has now; undefined when none came for that very version. */
  pushed(
    uri: string,
  ): { readonly version: number | undefined; readonly items: readonly unknown[]; readonly sha256: Hash } | undefined;
  onPushed(listener: (uri: string) => void): () => void;
  close(): void;
}
