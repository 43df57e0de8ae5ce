import type { IndexedText } from "./text.ts";

/**
 * What a server makes of a byte order mark, by its id in the table:
 * - "left out": it drops the mark of files it reads itself, and is told texts without it. Where things stand is the same either way;
 * - "kept": it counts the mark of files it reads, also while they are open: clangd takes included files from disk. It is told texts with it;
 * - "mixed": it is told texts without it, as editors do, and counts it where it reads the file itself (seen with pyright). What is open then decides.
 */
export type Marks = "left out" | "kept" | "mixed";

const KNOWN: { readonly [server: string]: Marks | undefined } = {
  typescript: "left out",
  jdtls: "left out",
  lua: "left out",
  clangd: "kept",
};

/** How it is with a server; "mixed" for one nobody looked at. */
export function marksOf(server: string): Marks {
  return KNOWN[server] ?? "mixed";
}

/** A text as it is told, and as positions in it count. */
export function asTold(text: IndexedText, marks: Marks): IndexedText {
  return marks === "kept" ? text.asRead() : text;
}
