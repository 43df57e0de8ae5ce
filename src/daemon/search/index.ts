// The door of search: what is in a workspace's recorded files, and where.
export { compileGlob, GLOB_ALTERNATIVES, type Glob } from "./glob.ts";
