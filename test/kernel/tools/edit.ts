/** Files of the workspace that is edited. */
export const FILES = 50;

/** Id of the request that may be killed. */
export const REQUEST = "the-edit";

/** Name, and content before and after, of each file. */
export const files: readonly { readonly path: string; readonly before: string; readonly after: string }[] = Array.from(
  { length: FILES },
  (_, n) => ({
    path: `d${n % 7}/f${n}.txt`,
    before: `head ${n}\nold ${n}\n${`line of ${n}\n`.repeat(40)}`,
    after: `head ${n}\nnew ${n}\nand ${n}\n${`line of ${n}\n`.repeat(40)}`,
  }),
);

/** Arguments of the one call that changes them all. */
export function theEdit(): { readonly edits: readonly object[] } {
  return {
    edits: files.map(({ path }, n) => ({ path, old_text: `old ${n}\n`, new_text: `new ${n}\nand ${n}\n` })),
  };
}
