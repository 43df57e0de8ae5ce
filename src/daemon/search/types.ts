import type { Hash } from "../store/index.ts";

/** Which files of a recorded tree are meant. */
export interface Scope {
  /** Row id of the workspace, so that what is known of its last tree helps with the next. */
  readonly workspace: number;
  /** Root of the recorded tree. */
  readonly tree: Hash;
  /** Canonical path that is searched: "" is all, a directory, or one file. */
  readonly path: string;
  /** Globs, relative to `path`, each of which must match; without one every file. What isExcluded says holds whatever they say. */
  readonly include?: readonly string[];
  /** Prefixes the caller may touch; undefined is all. */
  readonly prefixes: readonly string[] | undefined;
}

/** What is looked for in each line. */
export interface LinePattern {
  readonly pattern: string;
  /** The pattern is a text and no RE2 expression. */
  readonly literal: boolean;
  readonly caseInsensitive: boolean;
}

/** One file that is searched in a tree's stead: recorded too large to be kept, or not recorded at all. */
export interface GivenFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A search for lines. A line matches or does not; several matches in one are one. */
export interface LineQuery extends LinePattern {
  readonly where: Scope | GivenFile;
  /** Matching lines, or with `by: "files"` matching files, to leave out at the beginning. */
  readonly offset: number;
  readonly limit: number;
  readonly by: "lines" | "files";
  /** Lines around each match. */
  readonly contextLines: number;
}

/** A matching line. */
export interface LineHit {
  readonly path: string;
  /** From 1; lines end at LF or CRLF. */
  readonly line: number;
  /** Of the first match, in characters from 1. */
  readonly column: number;
  /** The line without its end, cut to SHOWN_CHARACTERS around the match. */
  readonly text: ShownText;
  readonly before: readonly ShownText[];
  readonly after: readonly ShownText[];
}

/** A line as it is shown. */
export interface ShownText {
  readonly text: string;
  /** Characters of the line before what is shown, and behind it. */
  readonly cutBefore: number;
  readonly cutAfter: number;
}

/** Files that were not searched, by why. */
export interface Skipped {
  /** A NUL in the first 8 KiB and no UTF-16 byte order mark. */
  binary: number;
  /** Above SEARCHED_BYTES. */
  too_large: number;
  /** Their bytes are not in the store. */
  not_kept: number;
}

/** What a search found. */
export interface LineAnswer {
  /** For `by: "lines"`, in byte order of paths, then by line. Fewer than `limit` where the answer would be too long. */
  readonly hits: readonly LineHit[];
  /** For `by: "files"`, in byte order of paths. */
  readonly files: readonly { readonly path: string; readonly lines: number }[];
  /** Matching lines in all files, exact. */
  readonly total: number;
  /** Files with a matching line, exact. */
  readonly totalFiles: number;
  /** Files that were looked into. */
  readonly searched: number;
  readonly skipped: Skipped;
}

/** A search for names of files. */
export interface FileQuery {
  readonly where: Scope;
  readonly offset: number;
  readonly limit: number;
}

/** What files there are. */
export interface FileAnswer {
  /** In byte order. */
  readonly files: readonly string[];
  /** Exact. */
  readonly total: number;
}

/** The search room. */
export interface Search {
  /**
   * Searches recorded contents. Rejects with INVALID_REGEX, INVALID_REQUEST (the glob), CANCELLED at once when `signal` says so,
   * DEADLINE_EXCEEDED past the time limit, CURSOR_EXPIRED when the tree is not kept any more, STORE_CORRUPT, INTERNAL.
   */
  lines(query: LineQuery, signal: AbortSignal): Promise<LineAnswer>;
  /** Finds regular files by name. Rejects as `lines` does. */
  files(query: FileQuery, signal: AbortSignal): Promise<FileAnswer>;
  /** Ends the threads; running searches are CANCELLED. */
  close(): Promise<void>;
}
