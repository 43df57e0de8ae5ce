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
  | Refused;

/** A refusal on its way from the thread. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
}

/** The thread's one answer: the pattern is refused, or every file in its place. */
export type ReplaceAnswer = Refused | { readonly kind: "files"; readonly files: readonly ReplacedFile[] };
