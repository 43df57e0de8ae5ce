export { createTrees } from "./trees.ts";
