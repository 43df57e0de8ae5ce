import type { Refused } from "../../base/index.ts";

/** What a replacing thread is given: one pattern over some files. */
export interface ReplaceJob {
  readonly pattern: string;
  readonly caseInsensitive: boolean;
  readonly multiline: boolean;
  readonly replacement: string;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

/** What it made of one file. */
export type ReplacedFile =
  | {
      readonly kind: "done";
      readonly bytes: Uint8Array;
      /** Matches, and those whose text is another now. */
      readonly matches: number;
      readonly replaced: number;
      /** Lines of the file before, from 1, of the first and the last match; 0 without one. */
      readonly firstLine: number;
      readonly lastLine: number;
    }
  | RefusedAnswer;

/** What cannot be done, of one file or of all. */
export interface RefusedAnswer extends Refused {
  readonly kind: "refused";
}

/** The thread's one answer: the whole is refused, or every file in its place. */
export type ReplaceAnswer = RefusedAnswer | { readonly kind: "files"; readonly files: readonly ReplacedFile[] };
