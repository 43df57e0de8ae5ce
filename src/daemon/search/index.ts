// The door of search: what is in a workspace's recorded files, and where.
//
// The engine is in process: threads that read recorded contents through their own connection to the store, keep them decoded, and run one automaton
// over them. A ripgrep beside it was weighed and left out: it reads the disk, which may have moved on from the checkpoint that a page is bound to;
// its order is not stable; it has its own regex dialect and its own idea of what is ignored. Bench search holds the two side by side: the same matches,
// and searching itself takes about as long; what comes on top for a first page is the look at the whole disk before it (Workspace.sync).
export { isExcluded } from "./excluded.ts";
export { compileGlob, GLOB_ALTERNATIVES, type Glob } from "./glob.ts";
export { ANSWER_CHARACTERS, SEARCH_MS, SEARCHED_BYTES, SHOWN_CHARACTERS } from "./limits.ts";
export { compileRe2 } from "./re2.ts";
export { createSearch, type SearchDeps } from "./search.ts";
export type * from "./types.ts";
